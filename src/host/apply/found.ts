/** What lies at a name of a folder, without following it anywhere; and putting it aside when it is not the mesh's. */
import { constants } from 'node:fs';
import { link, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { digestOfOpen } from '../digest.ts';
import { hasCode } from '../fault.ts';
import type { Folder } from '../folder.ts';

export type Found =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'file';
      readonly digest: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  | { readonly kind: 'directory' | 'symlink' | 'other' };

/** Names that the host itself gives: its temporaries, and what it put aside. No directory ever takes them for unknown. */
export function isHostsOwn(name: string): boolean {
  return /^\.mesh-[0-9a-f]{16}\.tmp$/.test(name) || /\.mesh-kept(-[0-9]+)?$/.test(name);
}

/** Looks at one name. A file's content is known by its digest. */
export async function look(folder: Folder, name: string): Promise<Found> {
  const stats = await lstat(`${folder.at}/${name}`).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (stats === undefined) return { kind: 'absent' };
  if (stats.isDirectory()) return { kind: 'directory' };
  if (stats.isSymbolicLink()) return { kind: 'symlink' };
  if (!stats.isFile()) return { kind: 'other' };
  const digest = await digestAt(folder, name);
  return { kind: 'file', digest, mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid };
}

async function digestAt(folder: Folder, name: string): Promise<string> {
  const handle = await open(`${folder.at}/${name}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return await digestOfOpen(handle);
  } finally {
    await handle.close();
  }
}

/**
 * Puts what lies at `name` aside as `<name>.mesh-kept-<n>` in the same folder, and answers that name. A file stays at its
 * own name too, for the caller to replace in one rename; anything else is moved. A file whose content is already
 * kept is not kept again: a program that rewrites its file at each pass must not fill the disk.
 */
export async function putAside(
  folder: Folder,
  name: string,
  found: Exclude<Found, { kind: 'absent' }>,
): Promise<string> {
  const taken = new Set(await readdir(folder.at));
  for (let n = 1; ; n += 1) {
    const keptName = `${shortened(name)}.mesh-kept-${n}`;
    if (taken.has(keptName)) {
      if (found.kind !== 'file') continue;
      const before = await look(folder, keptName);
      if (before.kind === 'file' && before.digest === found.digest) return keptName;
      continue;
    }
    if (found.kind === 'file') await linkOrMove(folder, name, keptName);
    else await rename(`${folder.at}/${name}`, `${folder.at}/${keptName}`);
    await folder.handle.sync();
    return keptName;
  }
}

/** Puts what lies at `name` aside and leaves nothing there. */
export async function moveAside(
  folder: Folder,
  name: string,
  found: Exclude<Found, { kind: 'absent' }>,
): Promise<string> {
  const keptName = await putAside(folder, name, found);
  if (found.kind === 'file') {
    await rm(`${folder.at}/${name}`, { force: true });
    await folder.handle.sync();
  }
  return keptName;
}

async function linkOrMove(folder: Folder, name: string, keptName: string): Promise<void> {
  try {
    await link(`${folder.at}/${name}`, `${folder.at}/${keptName}`);
  } catch (error) {
    // The kernel may forbid a second name for another user's file, and some file systems know none at all.
    if (!hasCode(error, 'EPERM') && !hasCode(error, 'ENOTSUP')) throw error;
    await rename(`${folder.at}/${name}`, `${folder.at}/${keptName}`);
  }
}

/** A name may have 255 bytes, and the ending must fit. */
function shortened(name: string): string {
  return Buffer.byteLength(name) <= 230 ? name : Array.from(name).slice(0, 50).join('');
}
