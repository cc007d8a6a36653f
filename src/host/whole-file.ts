/**
 * Files written whole (D9): temporary in the same folder, owner and mode, fsync, rename, fsync of the folder. Whoever
 * looks, and whenever the machine dies, finds the old content or the new, never a part.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';

export type WholeFile = {
  readonly content: Uint8Array;
  /** Permission bits, like 0o600. */
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
};

/** The name of the temporary beside a file: always the same, so that one left by a crash is found and goes. */
export function temporaryName(name: string): string {
  return `.mesh-${createHash('sha256').update(name).digest('hex').slice(0, 16)}.tmp`;
}

/** Writes a file whole in a folder. Throws with the old file untouched when the disk is full or anything else fails (D15). */
export async function writeWhole(folder: string, name: string, file: WholeFile): Promise<void> {
  const temporary = path.join(folder, temporaryName(name));
  await rm(temporary, { force: true });
  try {
    // Exclusive and 0600 from the first byte: nobody else's file is written into, and nobody reads a secret early.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const handle = await open(temporary, flags, 0o600);
    try {
      await handle.writeFile(file.content);
      if (file.uid !== undefined && file.gid !== undefined) await handle.chown(file.uid, file.gid);
      await handle.chmod(file.mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path.join(folder, name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/** Makes what happened to a folder's names last. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
