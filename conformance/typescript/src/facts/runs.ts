import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';

import { PATIENCE, type Scene } from '../scene';
import * as workflows from '../workflows';

export function runFacts(scene: Scene): void {
  test('a timer fires no earlier than asked', async () => {
    const handle = await scene.start(workflows.sleepFor, 100);
    assert.ok((await handle.result()) >= 100);
  });

  test('the result of a child reaches its parent', async () => {
    const handle = await scene.start(workflows.askChild, 'Ada');
    assert.equal(await handle.result(), 'Hello, Ada! (from a child)');
    assert.ok((await scene.eventTypes(handle)).includes('CHILD_WORKFLOW_EXECUTION_COMPLETED'));
  });

  test('continue-as-new goes on with new input', async () => {
    const handle = await scene.start(workflows.countDown, 3, '');
    assert.equal(await handle.result(), '3 2 1 ');
    const latest = await scene.client.workflow.getHandle(handle.workflowId).describe();
    assert.notEqual(latest.runId, handle.firstExecutionRunId);
    assert.equal(latest.raw.workflowExecutionInfo?.firstRunId, handle.firstExecutionRunId);
  });

  test('random ids and versions keep their value through replay', async () => {
    const handle = await scene.start(workflows.drawOnce);
    const drawn = await handle.result();
    assert.match(drawn, /version 1/);
    // A closed run answers from a replay of its history.
    assert.equal(await handle.query(workflows.state), drawn);
    assert.ok((await scene.eventTypes(handle)).includes('MARKER_RECORDED'));
  });

  test('a second start of a running workflow is refused', async () => {
    const handle = await scene.start(workflows.answerQueries, 'Ada');
    const again = scene.client.workflow.start(workflows.answerQueries, {
      workflowId: handle.workflowId,
      taskQueue: scene.taskQueue,
      args: ['Grace'],
    });
    await assert.rejects(again, WorkflowExecutionAlreadyStartedError);
    await handle.signal(workflows.finish);
    await handle.result();
  });

  test('a list finds a run by its type', async () => {
    const handle = await scene.start(workflows.listedByItsType);
    await handle.result();
    const query = "WorkflowType = 'listedByItsType' AND ExecutionStatus = 'Completed'";
    const deadline = Date.now() + PATIENCE;
    // Lists may lag behind writes: ask again.
    for (let found = false; !found; ) {
      assert.ok(Date.now() < deadline, 'the run never appeared in the list');
      for await (const listed of scene.client.workflow.list({ query })) {
        assert.equal(listed.type, 'listedByItsType');
        found ||= listed.runId === handle.firstExecutionRunId;
      }
      if (!found) await setTimeout(50);
    }
  });
}
