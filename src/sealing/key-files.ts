/**
 * Private halves on disk: written once, whole, 0600; read only when nobody else could have. Errors name the file and
 * what is wrong with it, never what it holds (S5).
 */
import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { link, open, unlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { base64Of, bytesOfBase64 } from './base64.ts';
import { makeSealingKey, sealingKeyOf, type SealingKey } from './box.ts';
import { makeOverlayKey, overlayKeyOf, type OverlayKey } from './overlay.ts';
import { Plaintext } from './plaintext.ts';

/** 64 KiB: more than any key, and little enough to read without a second thought. */
const limitBytes = 64 * 1024;

export class KeyFileFault extends Error {
  readonly file: string;
  readonly reason:
    'exists' | 'missing' | 'not-a-file' | 'readable-by-others' | 'another-owner' | 'wrong-content' | 'not-accessible';
  constructor(file: string, reason: KeyFileFault['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KeyFileFault';
    this.file = file;
    this.reason = reason;
  }
}

const errno = z.object({ code: z.string() });
function codeOf(error: unknown): string | undefined {
  const read = errno.safeParse(error);
  return read.success ? read.data.code : undefined;
}

/**
 * Writes a private half: the file is there whole or not at all, mode 0600, and on disk when this answers. Throws
 * `KeyFileFault` `exists` when the name is taken by anything: what is there is never replaced.
 */
export async function writePrivateFile(file: string, content: Plaintext): Promise<void> {
  const half = path.join(path.dirname(file), `.${path.basename(file)}.${randomBytes(6).toString('hex')}`);
  try {
    await writeSynced(half, content);
    // A link refuses a name that is taken, where a rename would replace it; and it never shows half a file.
    await link(half, file);
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST')
      throw new KeyFileFault(file, 'exists', `${file} is there already and was left as it is`);
    throw new KeyFileFault(file, 'not-accessible', `${file} cannot be written`, { cause });
  } finally {
    // It may never have been made; that it is gone is all that matters here.
    await unlink(half).catch(() => undefined);
  }
  await syncDirectory(path.dirname(file));
}

async function writeSynced(file: string, content: Plaintext): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    // The umask may take bits away; a mode that is set outright is the one that holds.
    await handle.chmod(0o600);
    await content.reveal((bytes) => handle.writeFile(bytes));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Reads a private half. Throws `KeyFileFault` when it is missing, no regular file, another user's, or open to others. */
export async function readPrivateFile(file: string): Promise<Plaintext> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') throw new KeyFileFault(file, 'missing', `${file} is not there`);
    if (codeOf(cause) === 'ELOOP')
      throw new KeyFileFault(file, 'not-a-file', `${file} is a link; a private key is read from the file itself`);
    throw new KeyFileFault(file, 'not-accessible', `${file} cannot be read`, { cause });
  }
  try {
    // Asked of the open file, not of its name: the name may lead elsewhere a moment later.
    refuseUnfit(file, await handle.stat());
    const bytes = await handle.readFile();
    const content = new Plaintext(bytes);
    bytes.fill(0);
    return content;
  } finally {
    await handle.close();
  }
}

function refuseUnfit(file: string, stats: Stats): void {
  if (!stats.isFile()) throw new KeyFileFault(file, 'not-a-file', `${file} is not a regular file`);
  if (stats.size > limitBytes)
    throw new KeyFileFault(file, 'wrong-content', `${file} has ${stats.size} bytes; no key is that long`);
  const mode = stats.mode & 0o777;
  if ((mode & 0o077) !== 0) {
    throw new KeyFileFault(
      file,
      'readable-by-others',
      `${file} has mode 0${mode.toString(8)}; a private key must be open to its owner alone: chmod 0600`,
    );
  }
  const user = process.getuid?.();
  if (user !== undefined && stats.uid !== user && user !== 0) {
    throw new KeyFileFault(file, 'another-owner', `${file} belongs to user ${stats.uid}, this process runs as ${user}`);
  }
}

/** The 32 bytes that a key file holds as one line of base64. */
async function readKeyBytes(file: string): Promise<Plaintext> {
  const text = await readPrivateFile(file);
  return text.reveal((content) => {
    const bytes = bytesOfBase64(Buffer.from(content).toString('latin1').trimEnd());
    if (bytes?.length !== 32) throw new KeyFileFault(file, 'wrong-content', `${file} does not hold base64 of 32 bytes`);
    return new Plaintext(bytes);
  });
}

function lineOf(secret: Plaintext): Plaintext {
  return secret.reveal((bytes) => new Plaintext(`${base64Of(bytes)}\n`));
}

/** Writes a sealing key's private half, once. Throws as `writePrivateFile`. */
export function writeSealingKey(file: string, key: SealingKey): Promise<void> {
  return writePrivateFile(file, lineOf(key.secret));
}

/** Reads a sealing key; its public half is worked out, never read. Throws `KeyFileFault`. */
export async function readSealingKey(file: string): Promise<SealingKey> {
  return sealingKeyOf(await readKeyBytes(file));
}

/** The sealing key of this file, made first when there is none: safe to repeat, and to run twice at once. */
export function sealingKeyAt(file: string): Promise<SealingKey> {
  return readOrMake(
    () => readSealingKey(file),
    () => writeSealingKey(file, makeSealingKey()),
  );
}

/** The overlay key of this file, made first when there is none. */
export function overlayKeyAt(file: string): Promise<OverlayKey> {
  return readOrMake(
    async () => overlayKeyOf(await readKeyBytes(file)),
    () => writePrivateFile(file, lineOf(makeOverlayKey().secret)),
  );
}

async function readOrMake<Key>(read: () => Promise<Key>, write: () => Promise<void>): Promise<Key> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof KeyFileFault && error.reason === 'missing')) throw error;
  }
  try {
    await write();
  } catch (error) {
    // Another process made it between the two: its key is the key.
    if (!(error instanceof KeyFileFault && error.reason === 'exists')) throw error;
  }
  return read();
}
