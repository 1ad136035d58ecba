/**
 * Holds a running server to what the official TypeScript SDK promises its users.
 *
 * TEMPORAL_ADDRESS names the server; its namespace is `default`. TEMPORAL_TLS_… and TEMPORAL_API_KEY are the
 * credentials. One worker serves all tests, on a
 * task queue of its own, so that the suite can share the server with others.
 */
import { after, before, describe } from 'node:test';

import { activityFacts } from './facts/activities';
import { messageFacts } from './facts/messages';
import { runFacts } from './facts/runs';
import { scheduleSpecFacts } from './facts/schedule-specs';
import { scheduledRunFacts } from './facts/scheduled-runs';
import { scheduleFacts } from './facts/schedules';
import { PATIENCE, Scene } from './scene';

describe('the TypeScript SDK', { concurrency: true, timeout: PATIENCE }, () => {
  const scene = new Scene();
  before(() => scene.open());
  after(() => scene.close());

  activityFacts(scene);
  messageFacts(scene);
  runFacts(scene);
  scheduleFacts(scene);
  scheduleSpecFacts(scene);
  scheduledRunFacts(scene);
});
