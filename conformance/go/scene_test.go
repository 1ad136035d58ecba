// Package conformance holds a running server to what the official Go SDK promises its users.
//
// TEMPORAL_ADDRESS names the server; its namespace is `default`. TEMPORAL_TLS_… and TEMPORAL_API_KEY are the
// credentials. One worker serves all tests, on a
// task queue of its own, so that the suite can share the server with others.
package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// How long anything may take before the test gives up: far more than a busy machine needs.
const patience = 30 * time.Second

var (
	temporal  client.Client
	taskQueue = "go-" + uuid.NewString()
)

func TestMain(m *testing.M) {
	os.Exit(runWithWorker(m))
}

func runWithWorker(m *testing.M) int {
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	options, err := connection()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot read the certificates that TEMPORAL_TLS_… names:", err)
		return 1
	}
	options.Logger = log.NewStructuredLogger(quiet)
	temporal, err = client.Dial(options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot reach the server that TEMPORAL_ADDRESS names:", err)
		return 1
	}
	defer temporal.Close()

	// Heartbeats leave at once: a cancellation comes back with the answer to one.
	w := worker.New(temporal, taskQueue, worker.Options{MaxHeartbeatThrottleInterval: 50 * time.Millisecond})
	registerActivities(w)
	registerMessages(w)
	registerRuns(w)
	if err := w.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot start the worker:", err)
		return 1
	}
	defer w.Stop()
	return m.Run()
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// start starts a run under an id that no other test and no earlier run of the suite has used.
func start(t *testing.T, workflowType any, input ...any) client.WorkflowRun {
	t.Helper()
	options := client.StartWorkflowOptions{ID: "go-" + uuid.NewString(), TaskQueue: taskQueue}
	run, err := temporal.ExecuteWorkflow(testContext(t), options, workflowType, input...)
	require.NoError(t, err)
	return run
}

func result[T any](t *testing.T, run client.WorkflowRun) T {
	t.Helper()
	var value T
	require.NoError(t, run.Get(testContext(t), &value))
	return value
}

func query[T any](t *testing.T, run client.WorkflowRun, name string) T {
	t.Helper()
	answer, err := temporal.QueryWorkflow(testContext(t), run.GetID(), run.GetRunID(), name)
	require.NoError(t, err)
	var value T
	require.NoError(t, answer.Get(&value))
	return value
}

func signal(t *testing.T, run client.WorkflowRun, name string, argument any) {
	t.Helper()
	require.NoError(t, temporal.SignalWorkflow(testContext(t), run.GetID(), run.GetRunID(), name, argument))
}

// eventually asks again until the answer is yes: lists may lag behind writes.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, patience, 50*time.Millisecond)
}

// eventTypes lists the events of a closed run, in order.
func eventTypes(t *testing.T, run client.WorkflowRun) []string {
	t.Helper()
	var types []string
	events := temporal.GetWorkflowHistory(testContext(t), run.GetID(), run.GetRunID(), false, 0)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		types = append(types, event.GetEventType().String())
	}
	return types
}

func activityOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: patience}
}
