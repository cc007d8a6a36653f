/**
 * A real PostgreSQL 18 for a module on a node, as a process that the host supervises: it runs as long as the server does.
 * The superuser's password is what the mesh's file says at each start.
 */
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import { isRefusal, type Refusal } from '../domain/refusal/refusal.ts';
import { findPostgres } from '../foundation/postgres-programs.ts';
import { adoptOrStop, launchPostgres, type PostgresAsked, stopPostgres } from '../foundation/postgres.ts';
import { isAlive, type Process } from '../foundation/processes.ts';
import type { Env } from '../foundation/programs.ts';

export type ServeAsked = {
  /** The module's folder; the server's own folder is made in it, named for its version. */
  readonly dataDir: string;
  /** The node's address. */
  readonly address: string;
  readonly port: number;
  /** Holds the password of the superuser `postgres`. */
  readonly passwordFile: string;
  /** Aborted when the server is to stop: sessions are ended, nothing is lost. */
  readonly signal: AbortSignal;
  readonly env: Env;
  readonly say: (line: string) => void;
};

/** Many sessions for one machine: each consumer has its own login, and two of them while its credential is rotated. */
const maxConnections = 300;

/**
 * Serves until the server ends, and gives its exit code: 0 after `signal`. A server that a killed predecessor left
 * running is taken on without breaking its sessions, unless its address, port or password is another by now.
 * Refusal: `port-taken`. Errors: the folder holds something else, no password file, no PostgreSQL for this machine.
 */
export async function servePostgres(asked: ServeAsked): Promise<number | Refusal> {
  await mkdir(asked.dataDir, { recursive: true, mode: 0o700 });
  const server: PostgresAsked = {
    programs: await findPostgres(asked.env),
    dataDir: path.join(asked.dataDir, 'postgres-18'),
    address: asked.address,
    port: asked.port,
    passwordFile: asked.passwordFile,
    maxConnections,
  };
  const left = await adoptOrStop(server);
  if (left !== undefined) {
    asked.say(`PostgreSQL was left running by a predecessor (process ${left.pid}); going on with it`);
    return untilGone(left, server, asked.signal);
  }
  if (asked.signal.aborted) return 0;
  const child = await launchPostgres(server, { detached: false, output: 'inherit' });
  if (isRefusal(child)) return child;
  const stop = (): void => void child.kill('SIGINT');
  if (asked.signal.aborted) stop();
  asked.signal.addEventListener('abort', stop, { once: true });
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  asked.signal.removeEventListener('abort', stop);
  return child.exitCode ?? 1;
}

/** Not our child, so nobody tells us when it ends: we look. */
async function untilGone(left: Process, server: PostgresAsked, signal: AbortSignal): Promise<number> {
  while (!signal.aborted) {
    if (!(await isAlive(left))) return 1;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 500);
      signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
  await stopPostgres(server);
  return 0;
}
