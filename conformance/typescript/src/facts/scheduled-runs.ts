/** What a schedule does: the runs that it starts, and what becomes of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ScheduleDescription, ScheduleHandle, ScheduleOverlapPolicy } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';

import { type Scene, until } from '../scene';
import * as workflows from '../workflows';

/** Five days that are over: nothing is started before a test asks for it. */
const LONG_AGO = {
  calendars: [{ year: 2020, month: 'JANUARY' as const, dayOfMonth: { start: 1, end: 5 } }],
};
const EVERY_SECOND = { intervals: [{ every: '1 second' as const }] };

export function scheduledRunFacts(scene: Scene): void {
  const status = async (workflowId: string): Promise<string> => {
    try {
      return (await scene.client.workflow.getHandle(workflowId).describe()).status.name;
    } catch (error) {
      assert.ok(error instanceof WorkflowNotFoundError, String(error));
      return 'NOT_FOUND';
    }
  };
  const untilStatus = (workflowId: string, wanted: string) =>
    until(
      () => status(workflowId),
      (found) => found === wanted
    );
  const outcome = async (workflowId: string): Promise<unknown> => {
    await untilStatus(workflowId, 'COMPLETED');
    return await scene.client.workflow.getHandle(workflowId).result();
  };

  test('a schedule starts as many runs as it may, each with the result of the one before', async () => {
    const schedule = await scene.schedule(workflows.countRuns, [], {
      spec: EVERY_SECOND,
      state: { remainingActions: 3 },
    });
    const { state, info } = await untilTaken(schedule, 3);
    assert.equal(state.remainingActions, 0);
    assert.deepEqual(info.nextActionTimes, []);
    const started = info.recentActions.map(({ action }) => action.workflow.workflowId);
    assert.deepEqual(
      started,
      info.recentActions.map(({ scheduledAt }) => runId(schedule, scheduledAt))
    );
    assert.deepEqual(await Promise.all(started.map(outcome)), [1, 2, 3]);
  });

  test('a run knows which schedule started it, and for which time', async () => {
    const day = january(2);
    const schedule = await scene.schedule(workflows.tellSchedule, [], { spec: LONG_AGO });
    await schedule.backfill({ start: day, end: day });
    const workflowId = runId(schedule, day);
    assert.deepEqual(await outcome(workflowId), { by: schedule.scheduleId, at: day.toISOString() });
    const { searchAttributes } = await scene.client.workflow.getHandle(workflowId).describe();
    assert.deepEqual(searchAttributes.TemporalScheduledById, [schedule.scheduleId]);
    assert.deepEqual(searchAttributes.TemporalScheduledStartTime, [day]);

    const query = `TemporalScheduledById = '${schedule.scheduleId}'`;
    const ids = async () => {
      const found = [];
      for await (const listed of scene.client.workflow.list({ query })) found.push(listed.workflowId);
      return found;
    };
    assert.deepEqual(await until(ids, (found) => found.length > 0), [workflowId]);
  });

  test('a backfill starts a run for each time, its end included', async () => {
    const schedule = await scene.schedule(workflows.countRuns, [], {
      spec: LONG_AGO,
      state: { paused: true },
    });
    await schedule.backfill([
      { start: january(1), end: january(2), overlap: 'BUFFER_ALL' },
      { start: january(4), end: january(5), overlap: 'BUFFER_ALL' },
    ]);
    const { info } = await untilTaken(schedule, 4);
    const started = info.recentActions.map(({ action }) => action.workflow.workflowId);
    const asked = [1, 2, 4, 5].map((day) => runId(schedule, january(day)));
    assert.deepEqual(started.toSorted(), asked);
    // One after the other, whichever backfill comes first.
    assert.deepEqual(await Promise.all(started.map(outcome)), [1, 2, 3, 4]);
  });

  test('a failure is told to the next run, and leaves the last result', async () => {
    const schedule = await scene.schedule(workflows.failSecond, [], {
      spec: LONG_AGO,
      state: { backfill: [{ start: january(1), end: january(3), overlap: 'BUFFER_ALL' }] },
    });
    await untilTaken(schedule, 3);
    await untilStatus(runId(schedule, january(2)), 'FAILED');
    assert.equal(await outcome(runId(schedule, january(3))), 'poured, spilled');
  });

  test('a failure pauses a schedule that asks for it', async () => {
    const schedule = await scene.schedule(workflows.fail, [], {
      spec: EVERY_SECOND,
      policies: { pauseOnFailure: true },
      state: { remainingActions: 1 },
    });
    const { state, info } = await until(
      () => schedule.describe(),
      ({ state }) => state.paused
    );
    const [{ action }] = info.recentActions;
    assert.match(state.note ?? '', new RegExp(action.workflow.workflowId));
    await untilStatus(action.workflow.workflowId, 'FAILED');
  });

  test('a paused schedule can be triggered when it is created and later', async () => {
    const schedule = await scene.schedule(workflows.countRuns, [], {
      spec: EVERY_SECOND,
      state: { paused: true, triggerImmediately: true, remainingActions: 0 },
    });
    const [{ action }] = (await untilTaken(schedule, 1)).info.recentActions;
    assert.equal(await outcome(action.workflow.workflowId), 1);
    // A run is named by the second of its trigger.
    const second = () => Math.floor(Date.now() / 1000);
    const first = second();
    await until(async () => second(), (now) => now > first);
    await schedule.trigger();
    await untilTaken(schedule, 2);
  });

  test('a trigger is skipped beside a running one if it says so', async () => {
    const { schedule, first } = await running('BUFFER_ALL');
    await schedule.trigger('SKIP');
    const { info } = await until(
      () => schedule.describe(),
      ({ info }) => info.numActionsSkippedOverlap === 1
    );
    assert.equal(info.numActionsTaken, 1);
    assert.deepEqual(runningIds(info), [first]);
    await finish(first);
  });

  test('a trigger starts beside a running one unless told', async () => {
    const { schedule, first } = await running('SKIP');
    await schedule.trigger();
    const { info } = await untilTaken(schedule, 2);
    const second = info.recentActions[1].action.workflow.workflowId;
    // The first one still runs beside the second.
    await finish(second);
    await finish(first);
  });

  test('a trigger waits for the running one to end if it says so', async () => {
    const { schedule, first } = await running('SKIP');
    await schedule.trigger('BUFFER_ONE');
    await until(
      async () => (await schedule.describe()).raw.info?.bufferSize?.toNumber(),
      (waiting) => waiting === 1
    );
    await finish(first);
    const { info } = await untilTaken(schedule, 2);
    await finish(info.recentActions[1].action.workflow.workflowId);
  });

  for (const [policy, end] of [
    ['CANCEL_OTHER', 'CANCELLED'],
    ['TERMINATE_OTHER', 'TERMINATED'],
  ] as const) {
    test(`a trigger leaves the running one ${end} if it says ${policy}`, async () => {
      const { schedule, first } = await running('SKIP');
      await schedule.trigger(policy);
      await untilStatus(first, end);
      const { info } = await untilTaken(schedule, 2);
      await finish(info.recentActions[1].action.workflow.workflowId);
    });
  }

  /** A schedule with a first run that ends by a signal. */
  async function running(
    overlap: ScheduleOverlapPolicy
  ): Promise<{ schedule: ScheduleHandle; first: string }> {
    const schedule = await scene.schedule(workflows.answerQueries, ['Ada'], {
      spec: LONG_AGO,
      policies: { overlap },
      state: { backfill: [{ start: january(1), end: january(1) }] },
    });
    const first = runId(schedule, january(1));
    await until(
      () => schedule.describe(),
      ({ info }) => runningIds(info).includes(first)
    );
    return { schedule, first };
  }

  async function finish(workflowId: string): Promise<void> {
    await untilStatus(workflowId, 'RUNNING');
    await scene.client.workflow.getHandle(workflowId).signal(workflows.finish);
    await outcome(workflowId);
  }
}

function untilTaken(schedule: ScheduleHandle, actions: number): Promise<ScheduleDescription> {
  return until(
    () => schedule.describe(),
    ({ info }) => info.numActionsTaken === actions
  );
}

/** The id of the run that a schedule starts for a time. */
function runId(schedule: ScheduleHandle, time: Date): string {
  return `${schedule.scheduleId}-workflow-${time.toISOString().replace('.000Z', 'Z')}`;
}

function runningIds(info: ScheduleDescription['info']): string[] {
  return info.runningActions.map(({ workflow }) => workflow.workflowId);
}

function january(day: number): Date {
  return new Date(Date.UTC(2020, 0, day));
}
