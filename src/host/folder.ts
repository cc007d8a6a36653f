/**
 * Folders inside the node's root, held open. What is done in one goes through its descriptor, so that a program which
 * swaps a folder for a symlink while the host works cannot lead it out of the root.
 */
import { constants } from 'node:fs';
import { mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { hasCode } from './fault.ts';

export type Folder = {
  /** A path by which the open folder is reached, whatever its name leads to by now. */
  readonly at: string;
  readonly handle: FileHandle;
};

/** Puts the node's root before a path that is written from the node's point of view. */
export function rooted(root: string, nodePath: string): string {
  return root === '/' ? nodePath : `${root}${nodePath}`;
}

/** The folder that a path of the node lies in: `/` for what lies at the top. */
export function folderOf(nodePath: string): string {
  return path.posix.dirname(nodePath);
}

/**
 * Opens a folder of the node, follows symlinks only as far as they stay inside the root, and closes it after use.
 * `making` is told of each missing folder just before it is made; without it a missing folder is a fault (ENOENT).
 */
export async function inFolder<T>(
  root: string,
  nodePath: string,
  making: ((made: string) => Promise<void>) | undefined,
  use: (folder: Folder) => Promise<T>,
): Promise<T> {
  const handle = await openFolder(root, nodePath, making);
  try {
    return await use({ at: `/proc/self/fd/${handle.fd}`, handle });
  } finally {
    await handle.close();
  }
}

async function openFolder(
  root: string,
  nodePath: string,
  making: ((made: string) => Promise<void>) | undefined,
): Promise<FileHandle> {
  try {
    return await openInside(root, nodePath);
  } catch (error) {
    if (making === undefined || !hasCode(error, 'ENOENT') || nodePath === '/') throw error;
    await inFolder(root, folderOf(nodePath), making, async (parent) => {
      await making(nodePath);
      await mkdir(`${parent.at}/${path.posix.basename(nodePath)}`, { mode: 0o755 }).catch((fault: unknown) => {
        // A dangling symlink is there and not there at once; anything else that came first is as good as ours.
        if (!hasCode(fault, 'EEXIST')) throw fault;
      });
      await parent.handle.sync();
    });
    return openInside(root, nodePath);
  }
}

async function openInside(root: string, nodePath: string): Promise<FileHandle> {
  const handle = await open(rooted(root, nodePath), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const reached = await readlink(`/proc/self/fd/${handle.fd}`);
    if (!isInside(await realpath(root), reached)) throw new Error(`${nodePath} leads out of the node's root`);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function isInside(root: string, reached: string): boolean {
  return root === '/' || reached === root || reached.startsWith(`${root}/`);
}
