/** What a schedule is: how it is created, described, listed, changed and deleted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  ScheduleAlreadyRunning,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOptions,
  type ScheduleSummary,
} from '@temporalio/client';

import { type Scene, until } from '../scene';
import * as workflows from '../workflows';

/** The gRPC status. */
const FAILED_PRECONDITION = 9;
const DAY = 24 * 60 * 60 * 1000;

/** Nothing is started while a test looks. */
const PAUSED = { paused: true };

export function scheduleFacts(scene: Scene): void {
  const create = (options: Omit<ScheduleOptions, 'scheduleId' | 'action'>) =>
    scene.schedule(workflows.answerQueries, ['Ada'], options);

  test('describe tells what create was told', async () => {
    const schedule = await create({
      spec: {},
      policies: { overlap: 'BUFFER_ONE', catchupWindow: '5 minutes', pauseOnFailure: true },
      state: { paused: true, note: 'not yet', remainingActions: 3 },
      memo: { owner: 'Ada' },
    });
    const described = await schedule.describe();
    assert.equal(described.scheduleId, schedule.scheduleId);
    assert.equal(described.action.workflowType, 'answerQueries');
    assert.equal(described.action.taskQueue, scene.taskQueue);
    assert.equal(described.action.workflowId, `${schedule.scheduleId}-workflow`);
    assert.deepEqual(described.action.args, ['Ada']);
    assert.deepEqual(described.policies, {
      overlap: 'BUFFER_ONE',
      catchupWindow: 300_000,
      pauseOnFailure: true,
    });
    assert.deepEqual(described.state, { paused: true, note: 'not yet', remainingActions: 3 });
    assert.deepEqual(described.memo, { owner: 'Ada' });
    assert.deepEqual(described.info, {
      recentActions: [],
      nextActionTimes: [],
      createdAt: described.info.createdAt,
      lastUpdatedAt: undefined,
      runningActions: [],
      numActionsMissedCatchupWindow: 0,
      numActionsSkippedOverlap: 0,
      numActionsTaken: 0,
    });
  });

  test('what is left out of a schedule has a default', async () => {
    const { policies, state } = await (await create({ spec: {} })).describe();
    assert.deepEqual(policies, { overlap: 'SKIP', catchupWindow: 365 * DAY, pauseOnFailure: false });
    assert.deepEqual(state, { paused: false, note: '', remainingActions: undefined });
  });

  test('a list finds schedules by a query', async () => {
    const options = { spec: { intervals: [{ every: DAY, offset: DAY / 2 }] }, memo: { owner: 'Ada' } };
    const paused = await create({ ...options, state: { paused: true, note: 'not yet' } });
    const active = await create(options);

    const listed = await until(
      () => list(scene, `ScheduleId = '${paused.scheduleId}'`),
      ([one]) => one?.state.paused === true
    );
    assert.equal(listed.length, 1);
    const { scheduleId, spec, action, memo, state, info } = listed[0];
    assert.equal(scheduleId, paused.scheduleId);
    assert.deepEqual(spec?.intervals, [{ every: DAY, offset: DAY / 2 }]);
    assert.deepEqual(action, { type: 'startWorkflow', workflowType: 'answerQueries' });
    assert.deepEqual(memo, { owner: 'Ada' });
    assert.deepEqual(state, { paused: true, note: 'not yet' });
    assert.ok(info.nextActionTimes.length > 0);

    const ids = (summaries: ScheduleSummary[]) => summaries.map((one) => one.scheduleId);
    await until(
      async () => ids(await list(scene, 'TemporalSchedulePaused = false')),
      (found) => found.includes(active.scheduleId) && !found.includes(paused.scheduleId)
    );
    await until(
      async () => ids(await list(scene, 'TemporalSchedulePaused = true')),
      (found) => found.includes(paused.scheduleId) && !found.includes(active.scheduleId)
    );
  });

  test('an update starts from what describe tells, and changes what it returns', async () => {
    const schedule = await create({
      spec: { cronExpressions: ['@hourly'], timezone: 'Europe/Vienna' },
      state: PAUSED,
      memo: { owner: 'Ada' },
    });
    const before = await schedule.describe();
    await schedule.update((previous) => ({
      ...previous,
      action: { ...previous.action, args: ['Grace'] },
      policies: { ...previous.policies, overlap: 'ALLOW_ALL' },
      state: { ...previous.state, note: 'updated' },
    }));
    const after = await until(
      () => schedule.describe(),
      ({ state }) => state.note === 'updated'
    );
    assert.deepEqual(after.spec, before.spec);
    assert.deepEqual(after.action.args, ['Grace']);
    assert.equal(after.action.workflowId, before.action.workflowId);
    assert.equal(after.action.taskQueue, scene.taskQueue);
    assert.deepEqual(after.policies, { ...before.policies, overlap: 'ALLOW_ALL' });
    assert.deepEqual(after.state, { ...before.state, note: 'updated' });
    assert.deepEqual(after.memo, { owner: 'Ada' });
    assert.ok(after.info.lastUpdatedAt !== undefined);
  });

  test('updates at the same time are all accepted, and one of them stays', async () => {
    const schedule = await create({ spec: {}, state: PAUSED });
    const notes = ['one', 'two', 'three', 'four', 'five'];
    const updates = notes.map((note) =>
      schedule.update((previous) => ({ ...previous, state: { ...previous.state, note } }))
    );
    await Promise.all(updates);
    const { state } = await until(
      () => schedule.describe(),
      ({ state }) => state.note !== ''
    );
    assert.ok(notes.includes(state.note ?? ''), state.note);
  });

  test('an update with an outdated conflict token changes nothing', async () => {
    const schedule = await create({ spec: {}, state: PAUSED });
    const { raw } = await schedule.describe();
    await schedule.update((previous) => ({ ...previous, state: { ...previous.state, note: 'first' } }));
    await until(
      () => schedule.describe(),
      ({ state }) => state.note === 'first'
    );
    // The SDK sends no token. Temporal drops such an update, and says that it succeeded.
    const late = scene.client.workflowService.updateSchedule({
      namespace: 'default',
      scheduleId: schedule.scheduleId,
      schedule: { ...raw.schedule, policies: { pauseOnFailure: true } },
      conflictToken: raw.conflictToken,
    });
    await late.catch((error) => assert.equal(error.code, FAILED_PRECONDITION));
    await schedule.pause('last');
    const { policies } = await until(
      () => schedule.describe(),
      ({ state }) => state.note === 'last'
    );
    assert.equal(policies.pauseOnFailure, false);
  });

  test('pausing and unpausing leave their notes', async () => {
    const schedule = await create({ spec: {} });
    const told = (paused: boolean) =>
      until(
        async () => (await schedule.describe()).state,
        (state) => state.paused === paused
      );
    await schedule.pause('lunch');
    assert.equal((await told(true)).note, 'lunch');
    await schedule.unpause('back');
    assert.equal((await told(false)).note, 'back');
    await schedule.pause();
    assert.match((await told(true)).note ?? '', /^Paused via TypeScript SDK/);
  });

  test('a schedule that exists is not created again', async () => {
    const schedule = await create({ spec: {}, state: { note: 'first' } });
    const { scheduleId } = schedule;
    const again = scene.client.schedule.create({
      scheduleId,
      spec: {},
      action: { type: 'startWorkflow', workflowType: workflows.countRuns, taskQueue: scene.taskQueue },
    });
    await assert.rejects(again, (error) => {
      assert.ok(error instanceof ScheduleAlreadyRunning, String(error));
      assert.equal(error.scheduleId, scheduleId);
      return true;
    });
    assert.equal((await schedule.describe()).state.note, 'first');
  });

  test('a deleted schedule is not found, and leaves its id to others', async () => {
    const schedule = await create({ spec: {} });
    const { scheduleId } = schedule;
    await schedule.delete();
    await until(() => isGone(schedule), Boolean);
    for (const call of [
      () => schedule.pause(),
      () => schedule.trigger(),
      () => schedule.backfill({ start: new Date(0), end: new Date(1_000) }),
      () => schedule.update((previous) => previous),
      () => schedule.delete(),
    ]) {
      await assert.rejects(call, ScheduleNotFoundError);
    }
    await until(
      () => list(scene, `ScheduleId = '${scheduleId}'`),
      (found) => found.length === 0
    );

    const again = await scene.client.schedule.create({
      scheduleId,
      spec: {},
      action: { type: 'startWorkflow', workflowType: workflows.countRuns, taskQueue: scene.taskQueue },
    });
    assert.equal((await again.describe()).action.workflowType, 'countRuns');
    await again.delete();
  });
}

async function list(scene: Scene, query: string): Promise<ScheduleSummary[]> {
  const found = [];
  for await (const one of scene.client.schedule.list({ query, pageSize: 10 })) found.push(one);
  return found;
}

async function isGone(schedule: ScheduleHandle): Promise<boolean> {
  try {
    await schedule.describe();
    return false;
  } catch (error) {
    assert.ok(error instanceof ScheduleNotFoundError, String(error));
    assert.equal(error.scheduleId, schedule.scheduleId);
    return true;
  }
}
