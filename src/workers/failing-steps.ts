/** A step that keeps failing is retried, but never in silence (A13): after two minutes the act's row says so, and so does `mesh status`. */
import { activityInfo, type Info } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { errorChain } from '../domain/words/error-chain.ts';
import type { ActRecords } from '../activities/ports.ts';

/** How long a step may fail before it is said. */
const sayAfterMs = 120_000;

/** Notes a step's fault on its act, and takes the note back when the step went through: every step's first argument is the act's id. */
export function sayFailingSteps(
  acts: Pick<ActRecords, 'note'>,
  now: () => number,
  stepNow: () => Step = activityInfo,
): ActivityInboundCallsInterceptor {
  const say = async (args: readonly unknown[], failing: string): Promise<void> => {
    const [act] = args;
    const { attempt, scheduledTimestampMs } = stepNow();
    if (typeof act !== 'string' || attempt === 1 || now() - scheduledTimestampMs < sayAfterMs) return;
    // What became of the step is what counts: a note that cannot be written must not hide it.
    await acts.note(act, { failing }).catch(() => undefined);
  };
  return {
    async execute(input, next) {
      try {
        const answer: unknown = await next(input);
        await say(input.args, '');
        return answer;
      } catch (error) {
        const isEnd =
          error instanceof CancelledFailure || (error instanceof ApplicationFailure && error.nonRetryable === true);
        if (!isEnd) await say(input.args, faultIn(stepNow(), error));
        throw error;
      }
    },
  };
}

type Step = Pick<Info, 'activityType' | 'attempt' | 'scheduledTimestampMs'>;

function faultIn({ activityType, attempt, scheduledTimestampMs }: Step, error: unknown): string {
  const since = new Date(scheduledTimestampMs).toISOString();
  return `${activityType}, tried ${attempt} times since ${since} and again within 10 s: ${errorChain(error)}`;
}
