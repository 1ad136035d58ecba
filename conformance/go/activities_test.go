package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func registerActivities(w worker.Registry) {
	w.RegisterWorkflow(greetByActivity)
	w.RegisterWorkflow(greetByLocalActivity)
	w.RegisterWorkflow(attemptUntilSuccess)
	w.RegisterWorkflow(resumeFromHeartbeat)
	w.RegisterWorkflow(waitForActivity)
	w.RegisterWorkflow(failInActivity)
	w.RegisterActivity(greet)
	w.RegisterActivity(succeedOnThirdAttempt)
	w.RegisterActivity(resume)
	w.RegisterActivity(heartbeatUntilCanceled)
	w.RegisterActivity(runOutOfStock)
}

func TestWorkflowReturnsTheResultOfItsActivity(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Hello, Ada!", result[string](t, start(t, greetByActivity, "Ada")))
}

func greetByActivity(ctx workflow.Context, name string) (greeting string, err error) {
	ctx = workflow.WithActivityOptions(ctx, activityOptions())
	err = workflow.ExecuteActivity(ctx, greet, name).Get(ctx, &greeting)
	return greeting, err
}

func greet(_ context.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
}

func TestLocalActivityLeavesOnlyAMarkerInTheHistory(t *testing.T) {
	t.Parallel()
	run := start(t, greetByLocalActivity, "Ada")
	require.Equal(t, "Hello, Ada!", result[string](t, run))
	require.Equal(t, []string{
		"WorkflowExecutionStarted",
		"WorkflowTaskScheduled",
		"WorkflowTaskStarted",
		"WorkflowTaskCompleted",
		"MarkerRecorded",
		"WorkflowExecutionCompleted",
	}, eventTypes(t, run))
}

func greetByLocalActivity(ctx workflow.Context, name string) (greeting string, err error) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: patience})
	err = workflow.ExecuteLocalActivity(ctx, greet, name).Get(ctx, &greeting)
	return greeting, err
}

func TestFailingActivityIsRetriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	require.Equal(t, int32(3), result[int32](t, start(t, attemptUntilSuccess)))
}

func attemptUntilSuccess(ctx workflow.Context) (attempt int32, err error) {
	ctx = workflow.WithActivityOptions(ctx, retriedAtOnce())
	err = workflow.ExecuteActivity(ctx, succeedOnThirdAttempt).Get(ctx, &attempt)
	return attempt, err
}

func succeedOnThirdAttempt(ctx context.Context) (int32, error) {
	attempt := activity.GetInfo(ctx).Attempt
	if attempt < 3 {
		return 0, sdk.NewApplicationError("not yet", "NotYet")
	}
	return attempt, nil
}

func TestHeartbeatDetailsSurviveARetry(t *testing.T) {
	t.Parallel()
	require.Equal(t, "page 7", result[string](t, start(t, resumeFromHeartbeat)))
}

func resumeFromHeartbeat(ctx workflow.Context) (resumedFrom string, err error) {
	options := retriedAtOnce()
	options.HeartbeatTimeout = patience
	ctx = workflow.WithActivityOptions(ctx, options)
	err = workflow.ExecuteActivity(ctx, resume).Get(ctx, &resumedFrom)
	return resumedFrom, err
}

func resume(ctx context.Context) (resumedFrom string, err error) {
	if activity.HasHeartbeatDetails(ctx) {
		err = activity.GetHeartbeatDetails(ctx, &resumedFrom)
		return resumedFrom, err
	}
	activity.RecordHeartbeat(ctx, "page 7")
	return "", sdk.NewApplicationError("lost the connection", "ConnectionLost")
}

func TestCancellationReachesWorkflowAndActivity(t *testing.T) {
	t.Parallel()
	run := start(t, waitForActivity)
	receive(t, activityStarted)
	require.NoError(t, temporal.CancelWorkflow(testContext(t), run.GetID(), run.GetRunID()))
	receive(t, activityCanceled)

	var canceled *sdk.CanceledError
	require.ErrorAs(t, run.Get(testContext(t), nil), &canceled)
	description, err := temporal.DescribeWorkflowExecution(testContext(t), run.GetID(), run.GetRunID())
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_CANCELED, description.WorkflowExecutionInfo.Status)
	require.Contains(t, eventTypes(t, run), "ActivityTaskCanceled")
}

// What the only run of heartbeatUntilCanceled tells the test.
var (
	activityStarted  = make(chan struct{}, 1)
	activityCanceled = make(chan struct{}, 1)
)

func receive(t *testing.T, told <-chan struct{}) {
	t.Helper()
	select {
	case <-told:
	case <-testContext(t).Done():
		require.Fail(t, "the activity never said so")
	}
}

func waitForActivity(ctx workflow.Context) error {
	options := activityOptions()
	options.HeartbeatTimeout = patience
	options.WaitForCancellation = true
	ctx = workflow.WithActivityOptions(ctx, options)
	return workflow.ExecuteActivity(ctx, heartbeatUntilCanceled).Get(ctx, nil)
}

func heartbeatUntilCanceled(ctx context.Context) error {
	activityStarted <- struct{}{}
	heartbeat := time.NewTicker(20 * time.Millisecond)
	defer heartbeat.Stop()
	for {
		select {
		case <-heartbeat.C:
			activity.RecordHeartbeat(ctx)
		case <-ctx.Done():
			activityCanceled <- struct{}{}
			return ctx.Err()
		}
	}
}

func TestFailureCarriesItsMessageTypeAndDetailsToTheClient(t *testing.T) {
	t.Parallel()
	run := start(t, failInActivity)
	err := run.Get(testContext(t), nil)

	var workflowFailed *sdk.WorkflowExecutionError
	require.ErrorAs(t, err, &workflowFailed)
	var activityFailed *sdk.ActivityError
	require.ErrorAs(t, err, &activityFailed)
	require.Equal(t, "runOutOfStock", activityFailed.ActivityType().GetName())
	require.Equal(t, enums.RETRY_STATE_NON_RETRYABLE_FAILURE, activityFailed.RetryState())
	var cause *sdk.ApplicationError
	require.ErrorAs(t, err, &cause)
	require.Equal(t, "no more teapots", cause.Message())
	require.Equal(t, "OutOfStock", cause.Type())
	var left int
	require.NoError(t, cause.Details(&left))
	require.Equal(t, 3, left)
}

func failInActivity(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, activityOptions())
	return workflow.ExecuteActivity(ctx, runOutOfStock).Get(ctx, nil)
}

func runOutOfStock(context.Context) error {
	return sdk.NewNonRetryableApplicationError("no more teapots", "OutOfStock", nil, 3)
}

func retriedAtOnce() workflow.ActivityOptions {
	options := activityOptions()
	options.RetryPolicy = &sdk.RetryPolicy{InitialInterval: time.Millisecond, BackoffCoefficient: 1}
	return options
}
