/** When a schedule acts: the specs that it is given, and what it makes of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type ScheduleSpec } from '@temporalio/client';

import { type Scene } from '../scene';
import * as workflows from '../workflows';

const EVERY_DAY = [{ start: 1, end: 31, step: 1 }];
const EVERY_MONTH = [{ start: 'JANUARY', end: 'DECEMBER', step: 1 }];
const EVERY_WEEKDAY = [{ start: 'SUNDAY', end: 'SATURDAY', step: 1 }];
const DAY = 24 * 60 * 60 * 1000;

export function scheduleSpecFacts(scene: Scene): void {
  /** Nothing is started while a test looks. */
  const paused = (spec: ScheduleSpec) =>
    scene.schedule(workflows.countRuns, [], { spec, state: { paused: true } });

  test('a calendar comes back with every field spelled out', async () => {
    const hours = { start: 8, end: 18, step: 5 };
    const schedule = await paused({
      calendars: [
        { hour: hours, dayOfWeek: ['MONDAY', { start: 'THURSDAY', end: 'FRIDAY' }], comment: 'shifts' },
      ],
      skip: [{ month: 'DECEMBER', dayOfMonth: { start: 24, end: 26 }, hour: '*' }],
      timezone: 'Europe/Vienna',
      jitter: '3 seconds',
      startAt: new Date('2000-01-01T00:00:00Z'),
      endAt: new Date('2100-01-01T00:00:00Z'),
    });
    assert.deepEqual((await schedule.describe()).spec, {
      calendars: [
        {
          second: only(0),
          minute: only(0),
          hour: [hours],
          dayOfMonth: EVERY_DAY,
          month: EVERY_MONTH,
          year: [],
          dayOfWeek: [...only('MONDAY'), { start: 'THURSDAY', end: 'FRIDAY', step: 1 }],
          comment: 'shifts',
        },
      ],
      intervals: [],
      skip: [
        {
          second: only(0),
          minute: only(0),
          hour: [{ start: 0, end: 23, step: 1 }],
          dayOfMonth: [{ start: 24, end: 26, step: 1 }],
          month: only('DECEMBER'),
          year: [],
          dayOfWeek: EVERY_WEEKDAY,
          comment: '',
        },
      ],
      timezone: 'Europe/Vienna',
      jitter: 3_000,
      startAt: new Date('2000-01-01T00:00:00Z'),
      endAt: new Date('2100-01-01T00:00:00Z'),
    });
  });

  test('a cron expression comes back as a calendar or an interval', async () => {
    const lunch = await paused({ cronExpressions: ['CRON_TZ=Asia/Tokyo 30 12 * * MON-WED,FRI # lunch'] });
    const { spec } = await lunch.describe();
    assert.deepEqual(spec.calendars, [
      {
        second: only(0),
        minute: only(30),
        hour: only(12),
        dayOfMonth: EVERY_DAY,
        month: EVERY_MONTH,
        year: [],
        dayOfWeek: [{ start: 'MONDAY', end: 'WEDNESDAY', step: 1 }, ...only('FRIDAY')],
        comment: 'lunch',
      },
    ]);
    assert.equal(spec.timezone, 'Asia/Tokyo');

    const round = await paused({ cronExpressions: ['@every 6h/5m'] });
    const { calendars, intervals } = (await round.describe()).spec;
    assert.deepEqual(calendars, []);
    assert.deepEqual(intervals, [{ every: DAY / 4, offset: 300_000 }]);
  });

  test('the next ten times are told, and a paused schedule has them too', async () => {
    const intervals = [{ every: '1 day' as const, offset: '6 hours' as const }];
    const schedule = await paused({ intervals });
    const { spec, info } = await schedule.describe();
    assert.deepEqual(spec.intervals, [{ every: DAY, offset: DAY / 4 }]);
    assert.equal(info.nextActionTimes.length, 10);
    const first = info.nextActionTimes[0].getTime();
    assert.equal(first % DAY, DAY / 4);
    assert.deepEqual(
      info.nextActionTimes.map((time) => time.getTime()),
      info.nextActionTimes.map((_, index) => first + index * DAY)
    );
  });

  test('a spec without sense is refused with a reason', async () => {
    for (const spec of [
      { cronExpressions: ['61 * * * *'] },
      { cronExpressions: ['@daily'], timezone: 'Atlantis/Capital' },
      { intervals: [{ every: 0 }] },
    ]) {
      await assert.rejects(paused(spec), TypeError, JSON.stringify(spec));
    }
  });
}

function only<T>(value: T): { start: T; end: T; step: number }[] {
  return [{ start: value, end: value, step: 1 }];
}
