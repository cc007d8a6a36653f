/**
 * A data folder for the server of a test file: initialised, and the mesh's database migrated, once a run, and copied. What
 * the first start of a mesh does is tested where it is looked at (test/foundation, test/cli, test/e2e).
 */
import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { lowerFoundation, raiseFoundation } from '../../src/foundation/foundation.ts';
import { holdState } from '../../src/foundation/lock.ts';
import { migrate } from '../../src/store/migrate.ts';
import { runFolder } from './run-folder.ts';

/** Puts a server's data, and the passwords that go with it, into a state folder that has none. Outside of a run it does nothing. */
export async function seedPostgres(stateDir: string): Promise<void> {
  if (runFolder === undefined) return;
  const seed = path.join(runFolder, 'seed-of-postgres');
  const release = await holdState(`${seed}.lock`);
  try {
    if (!(await isThere(seed))) await makeSeed(seed);
  } finally {
    await release();
  }
  await promisify(execFile)('cp', ['-a', path.join(seed, 'postgres'), path.join(seed, 'secrets'), stateDir]);
}

async function makeSeed(seed: string): Promise<void> {
  const stateDir = await mkdtemp(`${seed}-`);
  const raised = await raiseFoundation({
    stateDir,
    env: process.env,
    trust: { operatorJwt: '', systemAccount: '', preload: {} },
    say: () => undefined,
    parts: ['postgres'],
  });
  if (isRefusal(raised)) throw new Error(`${raised.what}; ${raised.why}`);
  await migrate({ connection: raised.postgres });
  await lowerFoundation({ stateDir, say: () => undefined });
  // A killed server loses nothing without fsync, and no test takes the machine's power away. Its shared memory is a file in the
  // same folder: else each that is killed would leave some of the machine's.
  const settings = '\nfsync = off\ndynamic_shared_memory_type = mmap\n';
  await appendFile(path.join(stateDir, 'postgres', 'postgresql.conf'), settings);
  await rename(stateDir, seed);
}

async function isThere(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}
