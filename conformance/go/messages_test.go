package conformance

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func registerMessages(w worker.Registry) {
	w.RegisterWorkflow(collectSignals)
	w.RegisterWorkflow(answerQueries)
	w.RegisterWorkflow(keepTotal)
}

func TestSignalsArriveInOrder(t *testing.T) {
	t.Parallel()
	const count = 20
	run := start(t, collectSignals, count)
	var sent []int
	for number := range count {
		signal(t, run, "number", number)
		sent = append(sent, number)
	}
	require.Equal(t, sent, result[[]int](t, run))
}

func collectSignals(ctx workflow.Context, count int) (received []int, err error) {
	numbers := workflow.GetSignalChannel(ctx, "number")
	for len(received) < count {
		var number int
		numbers.Receive(ctx, &number)
		received = append(received, number)
	}
	return received, nil
}

func TestQueryAnswersWhileTheRunIsOpenAndAfterItClosed(t *testing.T) {
	t.Parallel()
	run := start(t, answerQueries, "Ada")
	require.Equal(t, "waiting for Ada", query[string](t, run, "state"))
	signal(t, run, "finish", nil)
	require.NoError(t, run.Get(testContext(t), nil))
	require.Equal(t, "done with Ada", query[string](t, run, "state"))
}

func answerQueries(ctx workflow.Context, name string) error {
	state := "waiting for " + name
	if err := workflow.SetQueryHandler(ctx, "state", func() (string, error) { return state, nil }); err != nil {
		return err
	}
	workflow.GetSignalChannel(ctx, "finish").Receive(ctx, nil)
	state = "done with " + name
	return nil
}

func TestUpdateIsValidatedBeforeItIsAccepted(t *testing.T) {
	t.Parallel()
	run := start(t, keepTotal)

	_, err := update(t, run, -1)
	var rejected *sdk.ApplicationError
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, "only positive numbers", rejected.Message())

	total, err := update(t, run, 40)
	require.NoError(t, err)
	require.Equal(t, 40, total)
	total, err = update(t, run, 2)
	require.NoError(t, err)
	require.Equal(t, 42, total)

	signal(t, run, "finish", nil)
	require.Equal(t, 42, result[int](t, run))
	require.Equal(t, 2, count(eventTypes(t, run), "WorkflowExecutionUpdateAccepted"))
}

func update(t *testing.T, run client.WorkflowRun, number int) (total int, err error) {
	t.Helper()
	handle, err := temporal.UpdateWorkflow(testContext(t), client.UpdateWorkflowOptions{
		WorkflowID:   run.GetID(),
		RunID:        run.GetRunID(),
		UpdateName:   "add",
		Args:         []any{number},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return 0, err
	}
	err = handle.Get(testContext(t), &total)
	return total, err
}

func keepTotal(ctx workflow.Context) (total int, err error) {
	add := func(_ workflow.Context, number int) (int, error) {
		total += number
		return total, nil
	}
	onlyPositive := func(_ workflow.Context, number int) error {
		if number <= 0 {
			return errors.New("only positive numbers")
		}
		return nil
	}
	options := workflow.UpdateHandlerOptions{Validator: onlyPositive}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, "add", add, options); err != nil {
		return 0, err
	}
	workflow.GetSignalChannel(ctx, "finish").Receive(ctx, nil)
	return total, nil
}

func count(all []string, wanted string) int {
	found := 0
	for _, one := range all {
		if one == wanted {
			found++
		}
	}
	return found
}
