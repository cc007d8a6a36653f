/**
 * Directories: made, or adopted when they are there; with their mode, their owner if one is declared, and what is to
 * happen to files in them that the mesh did not write (D10). Removed only if the host made them and they are empty.
 */
import { lstat, mkdir, readdir, rename, rmdir, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { DirectoryResource } from '../../domain/declaration/declaration.ts';
import { accountOf, type Account } from '../accounts.ts';
import { digestOfValue } from '../digest.ts';
import { hasCode } from '../fault.ts';
import { folderOf, inFolder, type Folder } from '../folder.ts';
import type { DirectoryEntry } from '../ledger.ts';
import { liesUnder } from '../plan.ts';
import { bitsOf } from './file.ts';
import { isHostsOwn, look, moveAside } from './found.ts';
import type { Site } from './site.ts';

/** Puts a directory as declared. Throws when it cannot, and when it holds files that its `unknown: refuse` does not allow. */
export async function putDirectory(site: Site, resource: DirectoryResource): Promise<void> {
  const account = resource.owner === undefined ? undefined : await accountOf(resource.owner);
  const source = digestOfValue(resource);
  const before = directoryEntryAt(site, resource.path);
  const made = await makeOrAdopt(site, resource, before, source);
  await inFolder(site.root, resource.path, undefined, async (folder) => {
    const differed = await fitOwnerAndMode(folder.handle, bitsOf(resource.mode), account);
    if (differed && !made.now && before?.source === source)
      site.drifted(`${resource.path} had another owner or mode and was put back`);
  });
  site.ledger.settle({ id: resource.id, kind: 'directory', path: resource.path, source, made: made.byMesh });
  await treatUnknown(site, resource);
}

/** Takes away a directory that the host made, if it is empty; otherwise it stays and that is said. */
export async function removeDirectory(site: Site, entry: DirectoryEntry): Promise<void> {
  if (!entry.made) {
    site.kept(`${entry.path} was there before the mesh and stays`);
  } else if (!(await removeIfEmpty(site.root, entry.path))) {
    site.kept(`${entry.path} is no longer declared and is not empty; it stays`);
  }
  site.ledger.forget(entry);
}

/** Takes away an empty directory; answers whether it is gone. */
export async function removeIfEmpty(root: string, nodePath: string): Promise<boolean> {
  try {
    return await inFolder(root, folderOf(nodePath), undefined, async (folder) => {
      await rmdir(`${folder.at}/${path.posix.basename(nodePath)}`);
      await folder.handle.sync();
      return true;
    });
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return true;
    if (hasCode(error, 'ENOTEMPTY') || hasCode(error, 'EEXIST') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EBUSY'))
      return false;
    throw error;
  }
}

async function makeOrAdopt(
  site: Site,
  resource: DirectoryResource,
  before: DirectoryEntry | undefined,
  source: string,
): Promise<{ readonly byMesh: boolean; readonly now: boolean }> {
  const name = path.posix.basename(resource.path);
  const wasParent = site.ledger.parents().includes(resource.path);
  return inFolder(
    site.root,
    folderOf(resource.path),
    (made) => site.ledger.intendParent(made),
    async (folder) => {
      const found = await look(folder, name);
      // A symlink to a directory counts as one as long as it stays inside the root, which opening it proves.
      if (found.kind === 'directory' || found.kind === 'symlink') {
        site.ledger.forgetParent(resource.path);
        return { byMesh: before?.made ?? wasParent, now: false };
      }
      if (found.kind !== 'absent') {
        site.kept(
          `${resource.path} was no directory; what was there is kept as ${await moveAside(folder, name, found)}`,
        );
      }
      const intended = { id: resource.id, kind: 'directory', path: resource.path, made: true } as const;
      await site.ledger.intend(before?.source === undefined ? intended : { ...intended, source: before.source });
      await mkdir(`${folder.at}/${name}`, { mode: 0o700 });
      await folder.handle.sync();
      if (before?.source === source) site.drifted(`${resource.path} was gone and was made again`);
      return { byMesh: true, now: true };
    },
  );
}

async function fitOwnerAndMode(handle: FileHandle, mode: number, account: Account | undefined): Promise<boolean> {
  const stats = await handle.stat();
  const isOwned = account === undefined || (stats.uid === account.uid && stats.gid === account.gid);
  if (!isOwned) await handle.chown(account.uid, account.gid);
  if (isOwned && (stats.mode & 0o7777) === mode) return false;
  await handle.chmod(mode);
  await handle.sync();
  return true;
}

/** D10. */
async function treatUnknown(site: Site, resource: DirectoryResource): Promise<void> {
  if (resource.unknown === 'program') return;
  const unknown = await unknownIn(site, resource.path);
  if (unknown.length === 0) return;
  if (resource.unknown === 'refuse') {
    throw new Error(
      `${resource.path} holds what the mesh did not write: ${unknown.slice(0, 10).join(', ')}${unknown.length > 10 ? ` and ${unknown.length - 10} more` : ''}`,
    );
  }
  for (const one of unknown) await moveToKept(site, resource.path, one);
}

/** The paths in a directory that nobody declared and the mesh did not write. A directory declared inside it answers for its own. */
async function unknownIn(site: Site, nodePath: string): Promise<readonly string[]> {
  const names = await inFolder(site.root, nodePath, undefined, (folder) => readdir(folder.at));
  const found = await Promise.all(
    names
      .filter((name) => !isHostsOwn(name))
      .toSorted()
      .map(async (name) => {
        const at = `${nodePath}/${name}`;
        if (site.declared.has(at) || site.ledger.at(at) !== undefined) return [];
        const isOnTheWay = [...site.declared, ...site.ledger.parents()].some(
          (path) => path === at || liesUnder(path, at),
        );
        return isOnTheWay && (await isDirectory(site.root, at)) ? unknownIn(site, at) : [at];
      }),
  );
  return found.flat();
}

async function isDirectory(root: string, nodePath: string): Promise<boolean> {
  return inFolder(root, folderOf(nodePath), undefined, async (folder: Folder) =>
    (await lstat(`${folder.at}/${path.posix.basename(nodePath)}`)).isDirectory(),
  );
}

/** Moves one thing to `<directory>.mesh-kept/`, beside the directory: what reads all of a directory no longer meets it. */
async function moveToKept(site: Site, directory: string, unknown: string): Promise<void> {
  const keptFolder = `${directory}.mesh-kept`;
  await makePrivate(site.root, keptFolder);
  const name = path.posix.basename(unknown);
  await inFolder(site.root, folderOf(unknown), undefined, (from) =>
    inFolder(site.root, keptFolder, undefined, async (to) => {
      const taken = new Set(await readdir(to.at));
      let n = 1;
      while (taken.has(`${name}.${n}`)) n += 1;
      await rename(`${from.at}/${name}`, `${to.at}/${name}.${n}`);
      await to.handle.sync();
      await from.handle.sync();
      site.kept(`${unknown} was not written by the mesh; it was moved to ${keptFolder}/${name}.${n}`);
    }),
  );
}

async function makePrivate(root: string, nodePath: string): Promise<void> {
  await inFolder(root, folderOf(nodePath), undefined, (folder) =>
    mkdir(`${folder.at}/${path.posix.basename(nodePath)}`, { mode: 0o700 }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    }),
  );
}

function directoryEntryAt(site: Site, path: string): DirectoryEntry | undefined {
  const entry = site.ledger.at(path);
  return entry?.kind === 'directory' ? entry : undefined;
}
