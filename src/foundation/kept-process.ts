/** One detached server of the foundation: found running, or started and waited for. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';

import type { Refusal } from '../domain/refusal/refusal.ts';
import { refuseTaken } from './ports.ts';
import { isAlive, readPidFile, startDetached, stopProcess } from './processes.ts';
import { until } from './until.ts';

export type KeptAsked = {
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where it runs, and its home. */
  readonly folder: string;
  readonly stateDir: string;
  readonly pidFile: string;
  readonly listens: readonly { readonly address: string; readonly port: number }[];
  readonly isReady: () => Promise<boolean>;
  readonly readyWithinMs: number;
};

/** The file that a server's output is appended to. */
export const logFile = (stateDir: string, title: string): string =>
  path.join(stateDir, 'logs', `${title.toLowerCase()}.log`);

/** Takes the running server, or starts one and waits until it is ready. Refusal: `port-taken`. Errors: it ends, its last words in the message. */
export async function startKept(asked: KeptAsked): Promise<{ readonly wasRunning: boolean } | Refusal> {
  const running = await readPidFile(asked.pidFile);
  if (running !== undefined && (await isAlive(running))) {
    await untilReady(asked, 0);
    return { wasRunning: true };
  }
  for (const { address, port } of asked.listens) {
    const taken = await refuseTaken(asked.title, address, port);
    if (taken !== undefined) return taken;
  }
  const log = logFile(asked.stateDir, asked.title);
  const from = await stat(log).then(
    ({ size }) => size,
    () => 0,
  );
  await startDetached({
    program: asked.program,
    args: asked.args,
    cwd: asked.folder,
    // Nothing of the caller's environment: it may hold what is none of a server's business.
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: asked.folder, LANG: 'C' },
    logFile: log,
    pidFile: asked.pidFile,
  });
  try {
    await untilReady(asked, from);
  } catch (error) {
    await stopKept(asked.pidFile);
    throw error;
  }
  return { wasRunning: false };
}

/** Ends the server that a pid file names, and waits until it is gone. */
export async function stopKept(pidFile: string): Promise<'stopped' | 'was not running'> {
  const running = await readPidFile(pidFile);
  if (running === undefined || !(await isAlive(running))) return 'was not running';
  await stopProcess(running, { signal: 'SIGTERM', graceMs: 20_000 });
  return 'stopped';
}

async function untilReady(
  { title, stateDir, pidFile, isReady, readyWithinMs }: KeptAsked,
  logFrom: number,
): Promise<void> {
  let hasEnded = false;
  await until(
    async () => {
      if (await isReady()) return true;
      const started = await readPidFile(pidFile);
      hasEnded = started === undefined || !(await isAlive(started));
      return hasEnded;
    },
    { withinMs: readyWithinMs, what: `${title} to answer (its log: ${logFile(stateDir, title)})` },
  );
  if (!hasEnded) return;
  const said = (await readFile(logFile(stateDir, title))).subarray(logFrom).toString('utf8').trim();
  throw new Error(`${title} did not start: ${said.split('\n').slice(-3).join(' ')}`);
}
