/** The workflows under test. The SDK bundles this file for its sandbox, so it imports nothing else. */
import { defineSearchAttributeKey } from '@temporalio/common';
import {
  ApplicationFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';

import type { RegisteredActivities } from './activities';

const PATIENCE = '30 seconds';

export const finish = defineSignal('finish');
export const number = defineSignal<[number]>('number');
export const state = defineQuery<string>('state');
export const add = defineUpdate<number, [number]>('add');

const scheduledById = defineSearchAttributeKey('TemporalScheduledById', 'KEYWORD');
const scheduledStartTime = defineSearchAttributeKey('TemporalScheduledStartTime', 'DATETIME');

const activities = proxyActivities<RegisteredActivities>({ startToCloseTimeout: PATIENCE });
const local = proxyLocalActivities<RegisteredActivities>({ startToCloseTimeout: PATIENCE });
const retriedAtOnce = proxyActivities<RegisteredActivities>({
  startToCloseTimeout: PATIENCE,
  heartbeatTimeout: PATIENCE,
  retry: { initialInterval: 1, backoffCoefficient: 1 },
});
const waitedFor = proxyActivities<RegisteredActivities>({
  startToCloseTimeout: PATIENCE,
  heartbeatTimeout: PATIENCE,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

export async function greetByActivity(name: string): Promise<string> {
  return await activities.greet(name);
}

export async function greetByLocalActivity(name: string): Promise<string> {
  return await local.greet(name);
}

export async function attemptUntilSuccess(): Promise<number> {
  return await retriedAtOnce.succeedOnThirdAttempt();
}

export async function resumeFromHeartbeat(): Promise<string> {
  return await retriedAtOnce.resume();
}

export async function waitForActivity(): Promise<void> {
  await waitedFor.heartbeatUntilCanceled();
}

export async function failInActivity(): Promise<void> {
  await activities.runOutOfStock();
}

export async function collectSignals(count: number): Promise<number[]> {
  const received: number[] = [];
  setHandler(number, (one) => void received.push(one));
  await condition(() => received.length === count);
  return received;
}

export async function answerQueries(name: string): Promise<void> {
  let said = `waiting for ${name}`;
  let finished = false;
  setHandler(state, () => said);
  setHandler(finish, () => void (finished = true));
  await condition(() => finished);
  said = `done with ${name}`;
}

export async function keepTotal(): Promise<number> {
  let total = 0;
  let finished = false;
  const validator = (one: number) => {
    if (one <= 0) throw new Error('only positive numbers');
  };
  setHandler(add, (one) => (total += one), { validator });
  setHandler(finish, () => void (finished = true));
  await condition(() => finished);
  return total;
}

/** Returns how long it slept by the server's clock. */
export async function sleepFor(milliseconds: number): Promise<number> {
  const began = Date.now();
  await sleep(milliseconds);
  return Date.now() - began;
}

export async function askChild(name: string): Promise<string> {
  return `${await executeChild(greetByActivity, { args: [name] })} (from a child)`;
}

export async function countDown(from: number, said: string): Promise<string> {
  if (from === 0) return said;
  return await continueAsNew<typeof countDown>(from - 1, `${said}${from} `);
}

export async function drawOnce(): Promise<string> {
  let drawn = uuid4();
  setHandler(state, () => drawn);
  if (patched('with-suffix')) drawn += ' (version 1)';
  return drawn;
}

export async function listedByItsType(): Promise<void> {}

/** Tells which schedule started it, and for which time. */
export async function tellSchedule(): Promise<{ by?: string; at?: string }> {
  const { typedSearchAttributes } = workflowInfo();
  const at = typedSearchAttributes.get(scheduledStartTime);
  return { by: typedSearchAttributes.get(scheduledById), at: at?.toISOString() };
}

/** One more than the run before it returned, by what its schedule told it. */
export async function countRuns(): Promise<number> {
  const { lastResult } = workflowInfo();
  return typeof lastResult === 'number' ? lastResult + 1 : 1;
}

/** The first run returns, the second one fails, and the third one tells what it knows of them. */
export async function failSecond(): Promise<string> {
  const { lastResult, lastFailure } = workflowInfo();
  if (lastResult === undefined) return 'poured';
  if (lastFailure === undefined) throw ApplicationFailure.nonRetryable('spilled');
  return `${lastResult}, ${lastFailure.message}`;
}

export async function fail(): Promise<void> {
  throw ApplicationFailure.nonRetryable('no more teapots');
}
