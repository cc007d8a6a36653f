/**
 * Programs that outlive the command that started them. A pid alone is no name for a process, since the kernel gives
 * it again: a process is known by its pid and the moment it started, on this boot.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { z } from 'zod';

import { until } from './until.ts';

/** A process that was started: its pid and what tells it from a later one with the same pid. */
export type Process = { readonly pid: number; readonly startedMark: string };

export type Detached = {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Output is appended here. */
  readonly logFile: string;
  /** Holds the process's own words about itself; see `readPidFile`. */
  readonly pidFile: string;
};

// The program's shell says who it is before it becomes the program: whoever started it may be killed at any moment and
// still leaves no process that nobody knows of. `ps` is for systems without /proc.
const sayWhoAndBecome = `{ echo $$
if [ -r /proc/$$/stat ]; then cat /proc/sys/kernel/random/boot_id /proc/$$/stat; else ps -o lstart= -p $$; fi; echo .; } >&3
exec 3>&-
exec "$@"`;

/** Starts a program in a session of its own, so that it survives the caller. Errors: the shell cannot be started. */
export async function startDetached(asked: Detached): Promise<void> {
  const log = await open(asked.logFile, 'a', 0o600);
  const pidFile = await open(asked.pidFile, 'w', 0o600);
  try {
    const child = spawn('/bin/sh', ['-c', sayWhoAndBecome, 'sh', asked.program, ...asked.args], {
      cwd: asked.cwd,
      env: { ...asked.env },
      detached: true,
      stdio: ['ignore', log.fd, log.fd, pidFile.fd],
    });
    await once(child, 'spawn');
    child.unref();
  } finally {
    await log.close();
    await pidFile.close();
  }
  await until(async () => (await readPidFile(asked.pidFile)) !== undefined, {
    withinMs: 5_000,
    what: `${asked.program} to start`,
  });
}

/** The process that a pid file names, whether or not it still runs; undefined when there is none or it is half written. */
export async function readPidFile(pidFile: string): Promise<Process | undefined> {
  const text = await readFile(pidFile, 'utf8').catch(absent);
  // The full stop is written last.
  if (text === undefined || !text.endsWith('\n.\n')) return undefined;
  const [pid, first, second] = text.split('\n');
  const read = z.coerce.number().int().positive().safeParse(pid);
  if (!read.success || first === undefined || second === undefined) return undefined;
  return { pid: read.data, startedMark: second === '.' ? first.trim().replaceAll(/\s+/g, ' ') : markOf(first, second) };
}

/** What tells a running process from another with its pid; undefined when it does not run (a zombie does not). */
export async function startedMark(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return markByPs(pid);
  const [boot, stat] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readFile(`/proc/${pid}/stat`, 'utf8').catch(absent),
  ]);
  return stat === undefined || fieldsAfterName(stat)[0] === 'Z' ? undefined : markOf(boot, stat);
}

/** Whether this very process still runs. */
export async function isAlive(running: Process): Promise<boolean> {
  return (await startedMark(running.pid)) === running.startedMark;
}

/** Ends a process: the signal, then KILL after `graceMs`; returns when it is gone. A process that is gone is no error. */
export async function stopProcess(
  running: Process,
  { signal, graceMs }: { signal: NodeJS.Signals; graceMs: number },
): Promise<void> {
  for (const [each, withinMs] of [
    [signal, graceMs],
    ['SIGKILL', 10_000],
  ] as const) {
    if (!(await isAlive(running))) return;
    try {
      process.kill(running.pid, each);
    } catch {
      // It went between the look and the signal; the wait below says whether that is so.
    }
    const gone = await until(async () => !(await isAlive(running)), { withinMs, what: 'end' }).then(
      () => true,
      () => false,
    );
    if (gone) return;
  }
  throw new Error(`process ${running.pid} cannot be ended`);
}

const absent = (): undefined => undefined;

// The name in the second field may hold spaces and parentheses, so fields are counted from behind it.
const fieldsAfterName = (stat: string): readonly string[] => stat.slice(stat.lastIndexOf(')') + 2).split(' ');
// Field 22 of the line, the 20th behind the name: clock ticks since boot.
const markOf = (boot: string, stat: string): string => `${boot.trim()} ${fieldsAfterName(stat)[19] ?? ''}`;

async function markByPs(pid: number): Promise<string | undefined> {
  const ps = spawn('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  ps.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(ps, 'close');
  const [state, ...started] = text.trim().split(/\s+/);
  return state === undefined || state === '' || state.startsWith('Z') ? undefined : started.join(' ');
}
