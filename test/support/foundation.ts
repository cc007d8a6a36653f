/**
 * The real servers for a test file, raised by the mesh's own code in a folder of their own, on free ports:
 *
 *   const servers = await raiseForTests({ postgres: true });   // in beforeAll
 *   await servers.close();                                     // in afterAll
 *
 * Nothing outlives the tests: a watchdog ends the servers and removes the folder when this process ends, however it does.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { foundationParts, lowerFoundation, raiseFoundation, type Foundation } from '../../src/foundation/foundation.ts';
import type { BusTrust } from '../../src/foundation/nats.ts';
import { seedPostgres } from './seeded-postgres.ts';
import { newTestTrust, type TestTrust } from './trust.ts';

export type ForTests = {
  readonly postgres?: boolean;
  readonly nats?: boolean;
  readonly temporal?: boolean;
  /** Whom NATS trusts; `testTrust` unless given. */
  readonly trust?: BusTrust;
};

export type TestServers = {
  readonly stateDir: string;
  readonly foundation: Foundation;
  /** The operator and a user who may do all, when no `trust` was given. */
  readonly testTrust: TestTrust | undefined;
  /** How to log in to PostgreSQL as its superuser. */
  readonly superuser: () => Promise<pg.ClientConfig>;
  /** How to log in as the owner of the database `mesh`. */
  readonly controller: () => Promise<pg.ClientConfig>;
  readonly close: () => Promise<void>;
};

export async function raiseForTests(wanted: ForTests): Promise<TestServers> {
  const { stateDir, close: closeFolder } = await watchedFolder('mesh-servers-');
  const testTrust = wanted.trust === undefined && wanted.nats === true ? await newTestTrust() : undefined;
  const close = async (): Promise<void> => {
    await lowerFoundation({ stateDir, say: () => undefined });
    await closeFolder();
  };
  try {
    if (wanted.postgres === true) await seedPostgres(stateDir);
    const foundation = await raiseFoundation({
      stateDir,
      env: process.env,
      trust: wanted.trust ?? testTrust ?? { operatorJwt: '', systemAccount: '', preload: {} },
      say: () => undefined,
      parts: foundationParts.filter((part) => wanted[part] === true),
    });
    if (isRefusal(foundation)) throw new Error(`${foundation.what}; ${foundation.why}`);
    const { host, port, database, user, passwordFile, superuserPasswordFile } = foundation.postgres;
    const withPassword = async (config: pg.ClientConfig, file: string): Promise<pg.ClientConfig> => ({
      ...config,
      host,
      port,
      password: (await readFile(file, 'utf8')).trim(),
    });
    return {
      stateDir,
      foundation,
      testTrust,
      superuser: () => withPassword({ user: 'postgres', database: 'postgres' }, superuserPasswordFile),
      controller: () => withPassword({ user, database }, passwordFile),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

// Reads until its input ends, which the kernel sees to when the test's process ends; then ends what the folder's pid files
// name. A pid file is gone or names our own server: a server that was stopped was waited for, and the folder is new.
const watchdog = `read -r _; for file in "$1"/run/*.pid "$1"/postgres/postmaster.pid; do
  pid=$(head -n 1 "$file" 2>/dev/null) && [ -n "$pid" ] && tr '\\0' '\\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$1" && kill -9 "$pid"
done; rm -rf "$1"; sleep 0.2; rm -rf "$1"`;

/** A folder that is removed, with the servers in it ended, at `close` or when this process ends. */
export async function watchedFolder(
  prefix: string,
): Promise<{ readonly stateDir: string; readonly close: () => Promise<void> }> {
  const stateDir = await mkdtemp(path.join(tmpdir(), prefix));
  await chmod(stateDir, 0o711);
  const guard = spawn('/bin/sh', ['-c', watchdog, 'sh', stateDir], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(guard, 'spawn');
  guard.unref();
  const ended = once(guard, 'exit');
  return {
    stateDir,
    async close() {
      guard.ref();
      guard.stdin.end();
      await ended;
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
