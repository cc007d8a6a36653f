import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { temporaryName, writeWhole } from '../../src/host/whole-file.ts';
import { file, makeNode } from './node.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'mesh-whole-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('[D9] whoever reads while a file is written finds the old content or the new, whole, and never without its mode', async () => {
  const contents = ['a', 'b'].map((letter) => letter.repeat(1_000_000));
  const write = (n: number) => writeWhole(folder, 'conf', { content: Buffer.from(contents[n % 2] ?? ''), mode: 0o640 });
  await write(0);
  let writing = true;
  const writer = (async () => {
    for (let n = 1; n <= 40; n += 1) await write(n);
    writing = false;
  })();
  let read = 0;
  while (writing) {
    const [content, { mode }] = [
      await readFile(path.join(folder, 'conf'), 'utf8'),
      await stat(path.join(folder, 'conf')),
    ];
    expect(contents.includes(content)).toBe(true);
    expect(mode & 0o777).toBe(0o640);
    read += 1;
  }
  await writer;
  expect(read).toBeGreaterThan(5);
  expect(await readdir(folder)).toEqual(['conf']);
});

test('[D9] a temporary that a crash left before the rename stands beside the old file, which is whole, and is written over', async () => {
  await writeWhole(folder, 'conf', { content: Buffer.from('old'), mode: 0o600 });
  await writeFile(path.join(folder, temporaryName('conf')), 'half of the ne', { mode: 0o444 });
  expect(await readFile(path.join(folder, 'conf'), 'utf8')).toBe('old');
  await writeWhole(folder, 'conf', { content: Buffer.from('new'), mode: 0o600 });
  expect(await readdir(folder)).toEqual(['conf']);
  expect(await readFile(path.join(folder, 'conf'), 'utf8')).toBe('new');
});

const [mount, umount] = ['mount', 'umount'] as const;
// A small disk of its own takes a mount, which only root may make, and not in every container.
const mayMount = (() => {
  const at = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim();
  try {
    execFileSync(mount, ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', at], { stdio: 'ignore' });
    execFileSync(umount, [at]);
    return true;
  } catch {
    return false;
  } finally {
    execFileSync('rmdir', [at]);
  }
})();
(mayMount ? test : test.skip)(
  '[D15] a full disk: failed and said, nothing cut short, and put right once there is room',
  async () => {
    const node = await makeNode();
    execFileSync(mount, ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', node.root]);
    try {
      await node.apply(file('/conf', 'old'));
      const { failures, applied } = await node.apply(file('/conf', 'x'.repeat(200_000)), file('/small', 'small'));
      expect(failures).toEqual([
        { resource: 'notes/file//conf', error: expect.stringMatching(/^ENOSPC: no space left on device/) },
      ]);
      expect(applied).toBe(1);
      expect(await node.read('/conf')).toBe('old');
      expect((await readdir(node.root)).toSorted()).toEqual(['conf', 'small']);
      execFileSync(mount, ['-o', 'remount,size=1m', node.root]);
      expect((await node.apply(file('/conf', 'x'.repeat(200_000)), file('/small', 'small'))).failures).toEqual([]);
    } finally {
      execFileSync(umount, [node.root]);
      await node.remove();
    }
  },
);
