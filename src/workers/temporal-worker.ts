import { fileURLToPath } from 'node:url';
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type ActivityInboundCallsInterceptor,
} from '@temporalio/worker';
import type { Logger } from 'pino';
import { meshNamespace } from '../domain/act/act.ts';

/** Made by the build, beside the compiled sources, so that no worker bundles at its start. */
export const workflowBundle = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));

export type TemporalWorker = {
  /** Ends when it was shut down; rejects when it broke. */
  readonly ended: Promise<void>;
  shutdown(): void;
  close(): Promise<void>;
};

/** Runs the acts of a task queue: their workflows from the bundle, their steps from `activities`. */
export async function startTemporalWorker(of: {
  readonly address: string;
  readonly taskQueue: string;
  readonly bundle: string;
  readonly activities: object;
  /** Around every step, the first outermost. */
  readonly interceptors: readonly ActivityInboundCallsInterceptor[];
  readonly logger: Logger;
}): Promise<TemporalWorker> {
  speakThrough(of.logger);
  const connection = await NativeConnection.connect({ address: of.address });
  const worker = await Worker.create({
    connection,
    namespace: meshNamespace,
    taskQueue: of.taskQueue,
    workflowBundle: { codePath: of.bundle },
    activities: of.activities,
    interceptors: { activity: of.interceptors.map((inbound) => () => ({ inbound })) },
    // A worker that was killed leaves its cached workflows behind: the next one takes them after this long, not after ten seconds.
    stickyQueueScheduleToStartTimeout: '1s',
    maxHeartbeatThrottleInterval: '1s',
    // Steps that wait for nodes hold a slot each; they cost nothing while they wait.
    maxConcurrentActivityTaskExecutions: 500,
    shutdownGraceTime: '2s',
  });
  const ended = worker.run();
  return {
    ended,
    shutdown: () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
    close: () => connection.close(),
  };
}

/** What a worker's log says once it serves: a worker on another queue than the one that is waited on is seen there and nowhere else (C88). */
export function serving(taskQueue: string, temporal: string) {
  return { taskQueue, namespace: meshNamespace, temporal };
}

let speaking = false;
/** The SDK has one logger a process, set before anything of it runs. */
function speakThrough(logger: Logger): void {
  if (speaking) return;
  speaking = true;
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      logger[level === 'ERROR' ? 'error' : 'warn']({ temporal: meta }, message);
    }),
  });
}
