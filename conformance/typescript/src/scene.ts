/** What every test needs: a client, a worker, and ids that nobody else uses. */
import { randomUUID } from 'node:crypto';

import {
  Client,
  Connection,
  type WorkflowHandle,
  type WorkflowHandleWithFirstExecutionRunId,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { type Workflow } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

import { Activities } from './activities';

/** How long anything may take, in milliseconds, before the test gives up: far more than it needs. */
export const PATIENCE = 30_000;

export class Scene {
  readonly activities = new Activities();
  readonly taskQueue = `typescript-${randomUUID()}`;
  private opened?: { client: Client; native: NativeConnection; worker: Worker; running: Promise<void> };

  async open(): Promise<void> {
    // Activities that fail are what some tests are about; only the tests' own output counts.
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => {}),
      telemetryOptions: { logging: { filter: 'OFF' } },
    });
    const address = process.env.TEMPORAL_ADDRESS;
    const native = await NativeConnection.connect({ address });
    const worker = await Worker.create({
      connection: native,
      taskQueue: this.taskQueue,
      workflowsPath: require.resolve('./workflows'),
      activities: this.activities.registered(),
      // Heartbeats leave at once: a cancellation comes back with the answer to one.
      maxHeartbeatThrottleInterval: 50,
    });
    const client = new Client({ connection: await Connection.connect({ address }) });
    this.opened = { client, native, worker, running: worker.run() };
  }

  async close(): Promise<void> {
    if (this.opened === undefined) return;
    const { client, native, worker, running } = this.opened;
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

  /** The types of all events of a run, in order. */
  async eventTypes(handle: WorkflowHandle): Promise<string[]> {
    const { events } = await handle.fetchHistory();
    const { EventType } = temporal.api.enums.v1;
    return (events ?? []).map((event) => EventType[event.eventType ?? 0].replace('EVENT_TYPE_', ''));
  }
}
