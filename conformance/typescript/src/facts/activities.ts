import assert from 'node:assert/strict';
import { test } from 'node:test';

import { WorkflowFailedError } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState } from '@temporalio/common';

import { type Scene } from '../scene';
import * as workflows from '../workflows';

export function activityFacts(scene: Scene): void {
  test('a workflow returns the result of its activity', async () => {
    const handle = await scene.start(workflows.greetByActivity, 'Ada');
    assert.equal(await handle.result(), 'Hello, Ada!');
  });

  test('a local activity leaves only a marker in the history', async () => {
    const handle = await scene.start(workflows.greetByLocalActivity, 'Ada');
    assert.equal(await handle.result(), 'Hello, Ada!');
    assert.deepEqual(await scene.eventTypes(handle), [
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'MARKER_RECORDED',
      'WORKFLOW_EXECUTION_COMPLETED',
    ]);
  });

  test('a failing activity is retried until it succeeds', async () => {
    const handle = await scene.start(workflows.attemptUntilSuccess);
    assert.equal(await handle.result(), 3);
  });

  test("a heartbeat's details survive a retry", async () => {
    const handle = await scene.start(workflows.resumeFromHeartbeat);
    assert.equal(await handle.result(), 'page 7');
  });

  test('a cancellation reaches workflow and activity', async () => {
    const handle = await scene.start(workflows.waitForActivity);
    await scene.activities.started.told;
    await handle.cancel();
    await scene.activities.canceled.told;

    const failed = await failure(handle.result());
    assert.ok(failed.cause instanceof CancelledFailure, String(failed.cause));
    assert.equal((await handle.describe()).status.name, 'CANCELLED');
    assert.ok((await scene.eventTypes(handle)).includes('ACTIVITY_TASK_CANCELED'));
  });

  test('a failure carries its message, type and details to the client', async () => {
    const handle = await scene.start(workflows.failInActivity);
    const activity = (await failure(handle.result())).cause;
    assert.ok(activity instanceof ActivityFailure, String(activity));
    assert.equal(activity.activityType, 'runOutOfStock');
    assert.equal(activity.retryState, RetryState.NON_RETRYABLE_FAILURE);
    const { cause } = activity;
    assert.ok(cause instanceof ApplicationFailure, String(cause));
    assert.equal(cause.message, 'no more teapots');
    assert.equal(cause.type, 'OutOfStock');
    assert.deepEqual(cause.details, [3]);
  });
}

async function failure(result: Promise<unknown>): Promise<WorkflowFailedError> {
  const error = await result.then(
    () => assert.fail('the workflow should have failed'),
    (error: unknown) => error
  );
  assert.ok(error instanceof WorkflowFailedError, String(error));
  return error;
}
