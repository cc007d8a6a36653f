import { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';

const beatEveryMs = 1_000;
/** Steps that may take longer say themselves how far they are. */
const shortMs = 60_000;

/**
 * Beats for short steps, which have nothing to say while they run: so a worker that was killed in one is noticed by the
 * missing beat, not only when the step should have ended (A13).
 */
export const beatForShortSteps: ActivityInboundCallsInterceptor = {
  async execute(input, next) {
    const context = Context.current();
    if (context.info.startToCloseTimeoutMs > shortMs) return next(input);
    const beating = setInterval(() => context.heartbeat(), beatEveryMs);
    try {
      return await next(input);
    } finally {
      clearInterval(beating);
    }
  },
};
