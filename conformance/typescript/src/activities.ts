/** The activities that the tests' workflows use. */
import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';

/** The worker's end of every activity, and the test's end of the one that it follows step by step. */
export class Activities {
  readonly started = new Told();
  readonly canceled = new Told();

  registered() {
    return {
      greet: async (name: string): Promise<string> => `Hello, ${name}!`,

      succeedOnThirdAttempt: async (): Promise<number> => {
        const { attempt } = activityInfo();
        if (attempt < 3) throw ApplicationFailure.create({ message: 'not yet', type: 'NotYet' });
        return attempt;
      },

      resume: async (): Promise<string> => {
        const { heartbeatDetails } = activityInfo();
        if (heartbeatDetails !== undefined) return heartbeatDetails;
        Context.current().heartbeat('page 7');
        throw ApplicationFailure.create({ message: 'lost the connection', type: 'ConnectionLost' });
      },

      heartbeatUntilCanceled: async (): Promise<void> => {
        const context = Context.current();
        this.started.tell();
        const beating = setInterval(() => context.heartbeat(), 20);
        try {
          await context.cancelled;
        } catch (error) {
          if (error instanceof CancelledFailure) this.canceled.tell();
          throw error;
        } finally {
          clearInterval(beating);
        }
      },

      runOutOfStock: async (): Promise<void> => {
        throw ApplicationFailure.create({
          message: 'no more teapots',
          type: 'OutOfStock',
          nonRetryable: true,
          details: [3],
        });
      },
    };
  }
}

export type RegisteredActivities = ReturnType<Activities['registered']>;

/** Something that happens once, and that a test waits for. */
class Told {
  tell!: () => void;
  readonly told = new Promise<void>((resolve) => (this.tell = resolve));
}
