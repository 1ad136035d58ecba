package conformance

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	// How many workflows are in flight at any time.
	loadWidth = 50
	// For how long new ones are started, unless LOAD_SECONDS says otherwise.
	loadSeconds = 20
	// How long one workflow may take. A slow server on a busy machine needs a minute and a half for all 50 at once; a
	// worker that leaves the normal queue alone never finishes.
	loadPatience = 180 * time.Second
)

// A worker with default options has two polls for workflow tasks. It chooses between its own queue and the normal one
// by the backlog that its own queue is said to have: told of the normal one's, it would leave that to itself.
func TestWorkerWithDefaultOptionsKeepsUpWithAMixedLoad(t *testing.T) {
	queue := "go-load-" + uuid.NewString()
	w := worker.New(temporal, queue, worker.Options{})
	w.RegisterWorkflow(loadParent)
	w.RegisterWorkflow(loadChild)
	w.RegisterActivity(greet)
	w.RegisterActivity(succeedOnThirdAttempt)
	require.NoError(t, w.Start())
	defer w.Stop()

	until := time.Now().Add(loadDuration(t))
	var started, finished atomic.Int64
	failures := make(chan error, loadWidth)
	var lanes sync.WaitGroup
	for range loadWidth {
		lanes.Go(func() {
			for time.Now().Before(until) {
				started.Add(1)
				if err := oneOfTheLoad(queue); err != nil {
					failures <- err
					return
				}
				finished.Add(1)
			}
		})
	}
	lanes.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	require.Equal(t, started.Load(), finished.Load())
	t.Logf("%d workflows", finished.Load())
}

func loadDuration(t *testing.T) time.Duration {
	asked := os.Getenv("LOAD_SECONDS")
	if asked == "" {
		return loadSeconds * time.Second
	}
	seconds, err := strconv.Atoi(asked)
	require.NoError(t, err, "LOAD_SECONDS must be a whole number")
	return time.Duration(seconds) * time.Second
}

// oneOfTheLoad starts a workflow, does to it what clients do, and waits for its result.
func oneOfTheLoad(queue string) error {
	ctx, cancel := context.WithTimeout(context.Background(), loadPatience)
	defer cancel()
	id := "go-load-" + uuid.NewString()
	failed := func(what string, err error) error { return fmt.Errorf("%s: %s: %w", id, what, err) }

	options := client.StartWorkflowOptions{ID: id, TaskQueue: queue}
	run, err := temporal.ExecuteWorkflow(ctx, options, loadParent, 0, 0)
	if err != nil {
		return failed("start", err)
	}
	if err := temporal.SignalWorkflow(ctx, id, "", "number", 1); err != nil {
		return failed("signal", err)
	}
	added, err := temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   id,
		UpdateName:   "add",
		Args:         []any{40},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return failed("update", err)
	}
	if err := added.Get(ctx, nil); err != nil {
		return failed("result of the update", err)
	}
	if _, err := temporal.QueryWorkflow(ctx, id, "", "total"); err != nil {
		return failed("query", err)
	}
	var total int
	if err := run.Get(ctx, &total); err != nil {
		return failed("result", err)
	}
	// A signal, an update, two rounds of two activities and a child each.
	if total != 1+40+2*(3+3+2) {
		return fmt.Errorf("%s: the total is %d", id, total)
	}
	return nil
}

// loadParent does a bit of everything in each of two rounds, and continues as new between them.
func loadParent(ctx workflow.Context, round, total int) (int, error) {
	if err := workflow.SetQueryHandler(ctx, "total", func() (int, error) { return total, nil }); err != nil {
		return 0, err
	}
	hasUpdate := round > 0
	add := func(_ workflow.Context, number int) error {
		total += number
		hasUpdate = true
		return nil
	}
	if err := workflow.SetUpdateHandler(ctx, "add", add); err != nil {
		return 0, err
	}
	if round == 0 {
		var number int
		workflow.GetSignalChannel(ctx, "number").Receive(ctx, &number)
		total += number
	}

	children := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: time.Millisecond, BackoffCoefficient: 1, MaximumAttempts: 3},
	})
	child := workflow.ExecuteChildWorkflow(children, loadChild)
	remote := workflow.WithActivityOptions(ctx, retriedAtOnce())
	first := workflow.ExecuteActivity(remote, succeedOnThirdAttempt)
	second := workflow.ExecuteActivity(remote, succeedOnThirdAttempt)
	for _, part := range []workflow.Future{child, first, second} {
		var number int
		if err := part.Get(ctx, &number); err != nil {
			return 0, err
		}
		total += number
	}
	if err := workflow.Sleep(ctx, 10*time.Millisecond); err != nil {
		return 0, err
	}
	if err := workflow.Await(ctx, func() bool { return hasUpdate }); err != nil {
		return 0, err
	}
	if round == 0 {
		return 0, workflow.NewContinueAsNewError(ctx, loadParent, round+1, total)
	}
	return total, nil
}

// loadChild fails at first, and returns the attempt that succeeded.
func loadChild(ctx workflow.Context) (int32, error) {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: patience})
	if err := workflow.ExecuteLocalActivity(local, greet, "Ada").Get(ctx, nil); err != nil {
		return 0, err
	}
	remote := workflow.WithActivityOptions(ctx, activityOptions())
	if err := workflow.ExecuteActivity(remote, greet, "Grace").Get(ctx, nil); err != nil {
		return 0, err
	}
	attempt := workflow.GetInfo(ctx).Attempt
	if attempt < 2 {
		return 0, sdk.NewApplicationError("not yet", "NotYet")
	}
	return attempt, nil
}
