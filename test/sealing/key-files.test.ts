import { chmod, link, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeSealingKey } from '../../src/sealing/box.ts';
import {
  KeyFileFault,
  overlayKeyAt,
  readPrivateFile,
  readSealingKey,
  sealingKeyAt,
  writePrivateFile,
  writeSealingKey,
} from '../../src/sealing/key-files.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'mesh-key-files-'));
});
afterAll(() => rm(folder, { recursive: true }));

const at = (name: string) => path.join(folder, name);
async function faultOf(doing: Promise<unknown>): Promise<KeyFileFault> {
  try {
    await doing;
  } catch (error) {
    if (error instanceof KeyFileFault) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('a private key on disk', () => {
  test('[S5] is written 0600 whatever the umask, and read back', async () => {
    const key = makeSealingKey();
    const before = process.umask(0);
    try {
      await writeSealingKey(at('sealing'), key);
    } finally {
      process.umask(before);
    }
    expect((await stat(at('sealing'))).mode & 0o777).toBe(0o600);
    expect((await readSealingKey(at('sealing'))).publicKey).toBe(key.publicKey);
  });

  test('[S5] the public half is not kept beside the private one', async () => {
    const key = makeSealingKey();
    await writeSealingKey(at('alone'), key);
    expect(await readFile(at('alone'), 'utf8')).not.toContain(key.publicKey);
  });

  test('[S5] is never replaced, and a write that is refused leaves nothing behind', async () => {
    await writePrivateFile(at('once'), new Plaintext('first'));
    expect((await faultOf(writePrivateFile(at('once'), new Plaintext('second')))).reason).toBe('exists');
    expect(await readFile(at('once'), 'utf8')).toBe('first');
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
    await symlink(at('nowhere'), at('dangling'));
    expect((await faultOf(writePrivateFile(at('dangling'), new Plaintext('third')))).reason).toBe('exists');
  });

  test('[S5] is not read when others could have read it, through a link, or when it is none', async () => {
    await writeFile(at('open'), 'x', { mode: 0o600 });
    await chmod(at('open'), 0o640);
    const fault = await faultOf(readPrivateFile(at('open')));
    expect(fault.reason).toBe('readable-by-others');
    expect(fault.message).toContain(at('open'));
    expect(fault.message).toContain('0640');
    await writePrivateFile(at('real'), new Plaintext('x'));
    await symlink(at('real'), at('linked'));
    expect((await faultOf(readPrivateFile(at('linked')))).reason).toBe('not-a-file');
    await mkdir(at('folder'), { mode: 0o700 });
    expect((await faultOf(readPrivateFile(at('folder')))).reason).toBe('not-a-file');
    expect((await faultOf(readPrivateFile(at('missing')))).reason).toBe('missing');
    await link(at('real'), at('second-name'));
    expect((await readPrivateFile(at('second-name'))).length).toBe(1);
  });

  test('[S5] an error names the file and never what it holds', async () => {
    await writePrivateFile(at('short'), new Plaintext('CANARY-9f3b'));
    const fault = await faultOf(readSealingKey(at('short')));
    expect(fault.reason).toBe('wrong-content');
    expect(inspect(fault)).toContain(at('short'));
    expect(inspect(fault)).not.toContain('CANARY');
  });

  test('[U16] a node that starts many times has one key, also when two start at once', async () => {
    const made = await Promise.all([1, 2, 3, 4, 5].map(() => sealingKeyAt(at('node'))));
    expect(new Set(made.map((key) => key.publicKey)).size).toBe(1);
    const overlay = await overlayKeyAt(at('overlay'));
    expect((await overlayKeyAt(at('overlay'))).publicKey).toBe(overlay.publicKey);
  });
});
