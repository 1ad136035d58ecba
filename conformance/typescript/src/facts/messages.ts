import assert from 'node:assert/strict';
import { test } from 'node:test';

import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';

import { type Scene } from '../scene';
import * as workflows from '../workflows';

export function messageFacts(scene: Scene): void {
  test('signals arrive in order', async () => {
    const sent = Array.from({ length: 20 }, (_, index) => index);
    const handle = await scene.start(workflows.collectSignals, sent.length);
    for (const number of sent) await handle.signal(workflows.number, number);
    assert.deepEqual(await handle.result(), sent);
  });

  test('a query answers while the run is open and after it closed', async () => {
    const handle = await scene.start(workflows.answerQueries, 'Ada');
    assert.equal(await handle.query(workflows.state), 'waiting for Ada');
    await handle.signal(workflows.finish);
    await handle.result();
    assert.equal(await handle.query(workflows.state), 'done with Ada');
  });

  test('an update is validated before it is accepted', async () => {
    const handle = await scene.start(workflows.keepTotal);
    await assert.rejects(handle.executeUpdate(workflows.add, { args: [-1] }), (error) => {
      assert.ok(error instanceof WorkflowUpdateFailedError, String(error));
      assert.ok(error.cause instanceof ApplicationFailure, String(error.cause));
      assert.equal(error.cause.message, 'only positive numbers');
      return true;
    });
    assert.equal(await handle.executeUpdate(workflows.add, { args: [40] }), 40);
    assert.equal(await handle.executeUpdate(workflows.add, { args: [2] }), 42);

    await handle.signal(workflows.finish);
    assert.equal(await handle.result(), 42);
    const types = await scene.eventTypes(handle);
    assert.equal(types.filter((type) => type === 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED').length, 2);
  });
}
