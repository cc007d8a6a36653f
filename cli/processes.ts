/** What the long-running processes share: their log, their end by a signal, and the folder of the program. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';

import type { Progress } from './context.ts';

/** One JSON object a line on stdout. Whoever runs the process keeps it. */
export async function processLog(name: string): Promise<Logger> {
  const { pino, destination } = await import('pino');
  // Written at once: the last line before an end is the one that says why.
  return pino({ base: { process: name, pid: process.pid } }, destination({ fd: 1, sync: true }));
}

/** Aborted at the first SIGTERM, SIGINT or SIGHUP: the process ends in good order. A second one ends it at once. */
export function untilTold(): AbortSignal {
  const told = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () => told.abort());
  }
  return told.signal;
}

/** Settles after `ms`, or at once when `signal` aborts. */
export function pauseUntil(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}

/** What a part says as it goes, for a command that a person watches. */
export function sayOn(progress: Progress) {
  const say = (_fields: object, text: string): void => progress.say(text);
  return { info: say, warn: say, error: say };
}

/** The program `mesh` itself, and the folder that it lies in, from the sources and from what was compiled alike. */
export const meshProgram = fileURLToPath(
  new URL(import.meta.url.includes('/dist/cli/') ? '../../bin/mesh' : '../bin/mesh', import.meta.url),
);
export const meshProgramFolder = path.dirname(meshProgram);
