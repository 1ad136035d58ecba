/** What every test needs: a client, a worker, and ids that nobody else uses. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import {
  Client,
  Connection,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOptions,
  type WorkflowHandle,
  type WorkflowHandleWithFirstExecutionRunId,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { type Workflow } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

import { Activities } from './activities';
import { connectionOptions } from './connection';

/** How long anything may take, in milliseconds, before the test gives up: far more than it needs. */
export const PATIENCE = 30_000;

export class Scene {
  readonly activities = new Activities();
  readonly taskQueue = `typescript-${randomUUID()}`;
  private readonly schedules: ScheduleHandle[] = [];
  private opened?: { client: Client; native: NativeConnection; worker: Worker; running: Promise<void> };

  async open(): Promise<void> {
    // Activities that fail are what some tests are about; only the tests' own output counts.
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => {}),
      telemetryOptions: { logging: { filter: 'OFF' } },
    });
    const options = connectionOptions();
    const native = await NativeConnection.connect(options);
    const worker = await Worker.create({
      connection: native,
      taskQueue: this.taskQueue,
      workflowsPath: require.resolve('./workflows'),
      activities: this.activities.registered(),
      // Heartbeats leave at once: a cancellation comes back with the answer to one.
      maxHeartbeatThrottleInterval: 50,
    });
    const client = new Client({ connection: await Connection.connect(options) });
    this.opened = { client, native, worker, running: worker.run() };
  }

  async close(): Promise<void> {
    if (this.opened === undefined) return;
    const { client, native, worker, running } = this.opened;
    await Promise.all(this.schedules.map((schedule) => schedule.delete().catch(unlessGone)));
    worker.shutdown();
    await running;
    await client.connection.close();
    await native.close();
  }

  get client(): Client {
    if (this.opened === undefined) throw new Error('the scene is opened before its tests run');
    return this.opened.client;
  }

  /** Starts a run under an id that no other test and no earlier run of the suite has used. */
  start<T extends Workflow>(
    type: T,
    ...args: Parameters<T>
  ): Promise<WorkflowHandleWithFirstExecutionRunId<T>> {
    const workflowId = `typescript-${randomUUID()}`;
    const options = { taskQueue: this.taskQueue, workflowId, args } as unknown as WorkflowStartOptions<T>;
    return this.client.workflow.start(type, options);
  }

  /** Creates a schedule under an id that nobody else uses, and deletes it when the tests are over. */
  async schedule<T extends Workflow>(
    type: T,
    args: Parameters<T>,
    options: Omit<ScheduleOptions, 'scheduleId' | 'action'>
  ): Promise<ScheduleHandle> {
    const scheduleId = `typescript-${randomUUID()}`;
    const action = { type: 'startWorkflow' as const, workflowType: type, taskQueue: this.taskQueue, args };
    const schedule = await this.client.schedule.create({ ...options, scheduleId, action } as ScheduleOptions);
    this.schedules.push(schedule);
    return schedule;
  }

  /** The types of all events of a run, in order. */
  async eventTypes(handle: WorkflowHandle): Promise<string[]> {
    const { events } = await handle.fetchHistory();
    const { EventType } = temporal.api.enums.v1;
    return (events ?? []).map((event) => EventType[event.eventType ?? 0].replace('EVENT_TYPE_', ''));
  }
}

/** Asks until the answer is as wished. Gives up before the test does, and so can say what it was instead. */
export async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + PATIENCE / 2;
  for (;;) {
    const answer = await ask();
    if (holds(answer)) return answer;
    assert.ok(Date.now() < deadline, `still ${JSON.stringify(answer)}`);
    await setTimeout(50);
  }
}

function unlessGone(error: unknown): void {
  if (!(error instanceof ScheduleNotFoundError)) throw error;
}
