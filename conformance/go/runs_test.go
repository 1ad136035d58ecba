package conformance

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The type of the workflow that a list filter looks for.
const listedType = "go-listed"

func registerRuns(w worker.Registry) {
	w.RegisterWorkflow(sleep)
	w.RegisterWorkflow(askChild)
	w.RegisterWorkflow(countDown)
	w.RegisterWorkflow(drawOnce)
	w.RegisterWorkflowWithOptions(endAtOnce, workflow.RegisterOptions{Name: listedType})
}

func TestTimerFiresNoEarlierThanAsked(t *testing.T) {
	t.Parallel()
	asked := 100 * time.Millisecond
	require.GreaterOrEqual(t, result[time.Duration](t, start(t, sleep, asked)), asked)
}

// sleep returns how long it slept by the server's clock.
func sleep(ctx workflow.Context, asked time.Duration) (time.Duration, error) {
	began := workflow.Now(ctx)
	err := workflow.Sleep(ctx, asked)
	return workflow.Now(ctx).Sub(began), err
}

func TestResultOfAChildReachesItsParent(t *testing.T) {
	t.Parallel()
	run := start(t, askChild, "Ada")
	require.Equal(t, "Hello, Ada! (from a child)", result[string](t, run))
	require.Contains(t, eventTypes(t, run), "ChildWorkflowExecutionCompleted")
}

func askChild(ctx workflow.Context, name string) (string, error) {
	var greeting string
	err := workflow.ExecuteChildWorkflow(ctx, greetByActivity, name).Get(ctx, &greeting)
	return greeting + " (from a child)", err
}

func TestContinueAsNewGoesOnWithNewInput(t *testing.T) {
	t.Parallel()
	run := start(t, countDown, 3, "")
	first := run.GetRunID()
	require.Equal(t, "3 2 1 ", result[string](t, run))

	description, err := temporal.DescribeWorkflowExecution(testContext(t), run.GetID(), "")
	require.NoError(t, err)
	require.NotEqual(t, first, description.WorkflowExecutionInfo.Execution.RunId)
	require.Equal(t, first, description.WorkflowExecutionInfo.FirstRunId)
}

func countDown(ctx workflow.Context, from int, said string) (string, error) {
	if from == 0 {
		return said, nil
	}
	said += string(rune('0'+from)) + " "
	return "", workflow.NewContinueAsNewError(ctx, countDown, from-1, said)
}

func TestSideEffectAndVersionKeepTheirValueThroughReplay(t *testing.T) {
	t.Parallel()
	run := start(t, drawOnce)
	drawn := result[string](t, run)
	// A closed run answers from a replay of its history.
	require.Equal(t, drawn, query[string](t, run, "drawn"))
	require.Contains(t, eventTypes(t, run), "MarkerRecorded")
}

func drawOnce(ctx workflow.Context) (drawn string, err error) {
	err = workflow.SetQueryHandler(ctx, "drawn", func() (string, error) { return drawn, nil })
	if err != nil {
		return "", err
	}
	random := func(workflow.Context) any { return uuid.NewString() }
	if err := workflow.SideEffect(ctx, random).Get(&drawn); err != nil {
		return "", err
	}
	if workflow.GetVersion(ctx, "with-suffix", workflow.DefaultVersion, 1) == 1 {
		drawn += " (version 1)"
	}
	return drawn, nil
}

func TestSecondStartOfARunningWorkflowIsRefused(t *testing.T) {
	t.Parallel()
	run := start(t, answerQueries, "Ada")
	_, err := temporal.ExecuteWorkflow(testContext(t), client.StartWorkflowOptions{
		ID:                                       run.GetID(),
		TaskQueue:                                taskQueue,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, answerQueries, "Grace")
	var refused *serviceerror.WorkflowExecutionAlreadyStarted
	require.ErrorAs(t, err, &refused)
	require.Equal(t, run.GetRunID(), refused.RunId)

	signal(t, run, "finish", nil)
	require.NoError(t, run.Get(testContext(t), nil))
}

func TestListFindsARunByItsType(t *testing.T) {
	t.Parallel()
	run := start(t, listedType)
	require.NoError(t, run.Get(testContext(t), nil))
	eventually(t, func() bool {
		list, err := temporal.ListWorkflow(testContext(t), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "WorkflowType = '" + listedType + "' AND ExecutionStatus = 'Completed'",
		})
		require.NoError(t, err)
		found := false
		for _, listed := range list.Executions {
			require.Equal(t, listedType, listed.Type.Name)
			found = found || listed.Execution.RunId == run.GetRunID()
		}
		return found
	})
}

func endAtOnce(workflow.Context) error {
	return nil
}
