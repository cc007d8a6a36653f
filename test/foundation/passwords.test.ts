/** While everything is made and started, not only afterwards: initdb and its kin are gone by then. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { lowerFoundation, raiseFoundation } from '../../src/foundation/foundation.ts';
import { watchedFolder } from '../support/foundation.ts';

let folder: Awaited<ReturnType<typeof watchedFolder>>;
beforeAll(async () => {
  folder = await watchedFolder('mesh-passwords-');
});
afterAll(async () => {
  await lowerFoundation({ stateDir: folder.stateDir, say: () => undefined });
  await folder.close();
});

const pidsNow = async (): Promise<readonly string[]> => (await readdir('/proc')).filter((name) => /^\d+$/.test(name));

/** Everything that these processes say of themselves, as `program\0arguments\0…` and their environments. */
async function whatTheySay(pids: readonly string[]): Promise<string> {
  const files = pids.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]);
  return (await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))).join('\n');
}

/** Looks again and again, while `work` goes on, at all processes that were not there before: few, so that a short one is seen. */
async function seenDuring(work: () => Promise<void>): Promise<string> {
  const before = new Set(await pidsNow());
  let seen = '';
  let isDone = false;
  const done = work().finally(() => (isDone = true));
  while (!isDone) seen += await whatTheySay((await pidsNow()).filter((pid) => !before.has(pid)));
  await done;
  return seen + (await whatTheySay([...before]));
}

async function raise(): Promise<void> {
  const trust = { operatorJwt: '', systemAccount: '', preload: {} };
  const raised = await raiseFoundation({
    stateDir: folder.stateDir,
    env: process.env,
    trust,
    say: () => undefined,
    parts: ['postgres'],
  });
  if (isRefusal(raised)) throw new Error(raised.what);
}

test('[S5] at the making, at a start and when a password is replaced, none is in an argument, an environment, a file but its own, or a log', async () => {
  const secrets = path.join(folder.stateDir, 'secrets');
  await mkdir(secrets, { mode: 0o700 });
  const plant = async (word: string): Promise<void> => {
    for (const name of ['postgres-superuser', 'postgres-controller'])
      await writeFile(path.join(secrets, name), `planted-${word}-${name}\n`);
  };
  await plant('first');
  const making = await seenDuring(raise);
  // It is looked for by sampling: on a busy machine one replacing may pass between two looks.
  let replacing = '';
  for (let times = 1; times <= 20 && !replacing.includes('--single'); times += 1) {
    await plant(`again-${times}`);
    replacing += await seenDuring(raise);
  }

  // The looking is worth something: it saw the programs at work.
  expect(making).toContain('initdb');
  expect(replacing).toContain('--single');
  expect(making + replacing).not.toContain('planted-');

  const files = await readdir(folder.stateDir, { recursive: true, withFileTypes: true });
  const holding: string[] = [];
  for (const file of files.filter((each) => each.isFile())) {
    const where = path.join(file.parentPath, file.name);
    if ((await readFile(where).catch(() => Buffer.alloc(0))).includes('planted-'))
      holding.push(path.relative(folder.stateDir, where));
  }
  expect(holding.toSorted()).toEqual(['secrets/postgres-controller', 'secrets/postgres-superuser']);
});
