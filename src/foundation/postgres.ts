/**
 * A PostgreSQL server over one data folder: made on first start, started, found again, stopped. Whoever started it may
 * be gone; the server's own postmaster.pid says what runs. The superuser's password reaches the server only as a
 * verifier, and before the server listens.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';

import { isRefusal, type Refusal } from '../domain/refusal/refusal.ts';
import { type Handed, hand, isPasswordSet, preparePostgres } from './postgres-data.ts';
import type { PostgresPrograms } from './postgres-programs.ts';
import { refuseTaken } from './ports.ts';
import { isAlive, type Process, startedMark, stopProcess } from './processes.ts';
import { until } from './until.ts';

export type PostgresAsked = {
  readonly programs: PostgresPrograms;
  readonly dataDir: string;
  readonly address: string;
  readonly port: number;
  /** Holds the password of the superuser `postgres`. */
  readonly passwordFile: string;
  readonly maxConnections: number;
};

export type PostgresServer = Process & { readonly port: number; readonly wasRunning: boolean };

/**
 * Starts the server, detached, appending to the file `log`; returns once it accepts connections. One that already runs
 * over this folder with these settings is taken as it is; one with others is stopped first.
 * Refusal: `port-taken`. Errors: the folder holds something else, the server ends, its last words being in the message.
 */
export async function startPostgres(
  asked: PostgresAsked & { readonly log: string },
): Promise<PostgresServer | Refusal> {
  const log = await open(asked.log, 'a', 0o600);
  try {
    for (let tries = 1; ; tries += 1) {
      const running = await adoptOrStop(asked);
      if (running !== undefined) return { ...running, port: asked.port, wasRunning: true };
      const from = (await stat(asked.log)).size;
      const child = await launchPostgres(asked, { detached: true, output: log.fd });
      const ready = isRefusal(child) ? undefined : await untilReady(asked.dataDir, child);
      if (!isRefusal(child) && ready !== undefined) {
        child.unref();
        return { ...ready, port: asked.port, wasRunning: false };
      }
      const said = (await readFile(asked.log)).subarray(from).toString('utf8');
      // A server that somebody else, or whoever was killed, has just started shows itself only now; and the children of a
      // killed one keep its memory until they see that it is gone. Both are a matter of moments.
      const isPassing = isRefusal(child)
        ? await hasServer(asked.dataDir)
        : /pre-existing shared memory|lock file .* (already exists|is empty)/.test(said);
      if (tries === 50 || !isPassing) {
        if (isRefusal(child)) return child;
        throw new Error(`PostgreSQL did not start: ${lastWords(said)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    await log.close();
  }
}

/** Prepares the data folder and runs the server as a child. Refusal: `port-taken`. */
export async function launchPostgres(
  asked: PostgresAsked,
  { detached, output }: { readonly detached: boolean; readonly output: number | 'inherit' },
): Promise<ChildProcess | Refusal> {
  const taken = await refuseTaken('PostgreSQL', asked.address, asked.port);
  if (taken !== undefined) return taken;
  await removeStaleLock(asked.dataDir);
  await preparePostgres(asked);
  const folder = await hand(asked.dataDir, asked.programs.owner);
  try {
    const child = spawn(asked.programs.postgres, serverArgs(asked, folder), {
      ...asked.programs.owner,
      cwd: '/',
      env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
      detached,
      stdio: ['ignore', output, output, folder.handle?.fd ?? 'ignore'],
    });
    await once(child, 'spawn');
    return child;
  } finally {
    await folder.handle?.close();
  }
}

/** The server that runs over a data folder, ready or not; undefined when none does. */
export async function runningPostgres(
  dataDir: string,
): Promise<(Process & { readonly port: number; readonly address: string; readonly isReady: boolean }) | undefined> {
  const lines = await readLock(dataDir);
  const pid = Number(lines[0]);
  const mark = await markOfPid(pid);
  if (mark === undefined || !(await servesFolder(pid, dataDir))) return undefined;
  return { pid, startedMark: mark, port: Number(lines[3]), address: lines[5] ?? '', isReady: lines[7] === 'ready' };
}

async function hasServer(dataDir: string): Promise<boolean> {
  return (await runningPostgres(dataDir)) !== undefined;
}

/** The lines of postmaster.pid; none when there is no such file. */
async function readLock(dataDir: string): Promise<readonly string[]> {
  const text = await readFile(lockFile(dataDir), 'utf8').catch(() => '');
  return text.split('\n').map((line) => line.trim());
}

const lockFile = (dataDir: string): string => path.join(dataDir, 'postmaster.pid');

async function markOfPid(pid: number): Promise<string | undefined> {
  return Number.isInteger(pid) && pid > 0 ? startedMark(pid) : undefined;
}

/**
 * PostgreSQL refuses to start while its lock names a pid that some process of its user has. After a restart of the machine
 * that may be anybody; a pid that nobody has is left to PostgreSQL, which looks for a dead server's children besides.
 */
async function removeStaleLock(dataDir: string): Promise<void> {
  const pid = Number((await readLock(dataDir))[0]);
  if ((await markOfPid(pid)) !== undefined && !(await servesFolder(pid, dataDir)))
    await rm(lockFile(dataDir), { force: true });
}

/** Stops the server over a data folder: sessions are ended, nothing is lost. Returns when it is gone. */
export async function stopPostgres({ dataDir }: { readonly dataDir: string }): Promise<'stopped' | 'was not running'> {
  const running = await runningPostgres(dataDir);
  if (running === undefined) return 'was not running';
  await stopProcess(running, { signal: 'SIGINT', graceMs: 30_000 });
  return 'stopped';
}

/** A server that was left running with just these settings, once it is ready; any other one is stopped. */
export async function adoptOrStop(asked: PostgresAsked): Promise<Process | undefined> {
  const running = await runningPostgres(asked.dataDir);
  if (running === undefined) return undefined;
  const isAsAsked = await isPasswordSet(asked);
  if (isAsAsked && running.port === asked.port && running.address === asked.address) {
    const ready = await untilReady(asked.dataDir, running);
    if (ready !== undefined) return ready;
  }
  await stopPostgres(asked);
  return undefined;
}

/** The process, once it says that it is ready; undefined when it ended before. */
async function untilReady(dataDir: string, started: ChildProcess | Process): Promise<Process | undefined> {
  let ready: Process | undefined;
  const hasEnded = async (): Promise<boolean> =>
    'startedMark' in started ? !(await isAlive(started)) : started.exitCode !== null || started.signalCode !== null;
  await until(
    async () => {
      const running = await runningPostgres(dataDir);
      if (running?.isReady === true && running.pid === started.pid) ready = running;
      return ready !== undefined || (await hasEnded());
    },
    // Recovery after a crash may replay much.
    { withinMs: 120_000, what: 'PostgreSQL to be ready' },
  );
  return ready;
}

function serverArgs(asked: PostgresAsked, folder: Handed): readonly string[] {
  const settings = {
    listen_addresses: asked.address,
    port: String(asked.port),
    unix_socket_directories: '',
    max_connections: String(asked.maxConnections),
    // Says on the command line which folder is served, also when it was handed over open: see servesFolder.
    'mesh.folder': asked.dataDir,
  };
  return ['-D', folder.path, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Whether a process is the server of this folder: a pid in a file left behind may be somebody else's by now. */
async function servesFolder(pid: number, dataDir: string): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  return args.includes(`mesh.folder=${dataDir}`);
}

function lastWords(log: string): string {
  const lines = log.trim().split('\n');
  const fatal = lines.filter((line) => /\b(?:FATAL|PANIC|ERROR):/.test(line));
  return (fatal.length > 0 ? fatal : lines).slice(-2).join(' ');
}
