/** Calls a step as a worker would, in this process: with a context that it can beat in, and nobody who listens. `attempt`: from 1. */
import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';

const info: Info = {
  taskToken: new Uint8Array(),
  base64TaskToken: '',
  activityId: 'bench',
  activityType: 'bench',
  activityNamespace: 'mesh',
  namespace: 'mesh',
  attempt: 1,
  isLocal: false,
  inWorkflow: false,
  scheduledTimestampMs: 0,
  scheduleToCloseTimeoutMs: 0,
  startToCloseTimeoutMs: 0,
  currentAttemptScheduledTimestampMs: 0,
  heartbeatDetails: undefined,
  taskQueue: 'bench',
};

export function inActivity<T>(step: () => Promise<T>, attempt = 1): Promise<T> {
  const never = new Promise<never>(() => {});
  const context = new Context(
    { ...info, attempt },
    never,
    new AbortController().signal,
    () => {},
    undefined,
    new DefaultLogger('ERROR'),
    noopMetricMeter,
    {},
  );
  return asyncLocalStorage.run(context, step);
}
