/**
 * Files and secrets (D9). Content that is already right is not written again; content that the mesh did not write is
 * kept and said before it is replaced (D8).
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileResource, SecretResource } from '../../domain/declaration/declaration.ts';
import { accountOf, type Account } from '../accounts.ts';
import { digestOf, digestOfValue } from '../digest.ts';
import { hasCode } from '../fault.ts';
import { folderOf, inFolder, type Folder } from '../folder.ts';
import type { FileEntry } from '../ledger.ts';
import { temporaryName, writeWhole } from '../whole-file.ts';
import { look, moveAside, putAside, type Found } from './found.ts';
import type { Site } from './site.ts';

/** Puts a file or a secret as declared. Throws when it cannot; the file is then the old one, whole. */
export async function putFile(site: Site, resource: FileResource | SecretResource): Promise<void> {
  const account = await accountOf(resource.owner);
  const name = path.posix.basename(resource.path);
  const making = (made: string) => site.ledger.intendParent(made);
  await inFolder(site.root, folderOf(resource.path), making, async (folder) => {
    await rm(`${folder.at}/${temporaryName(name)}`, { force: true });
    const found = await look(folder, name);
    const before = fileEntryAt(site, resource.path);
    const source = digestOfValue(resource);
    const wanted = wantedDigest(site, resource, before, source);
    if (found.kind === 'file' && found.digest === wanted) {
      if (await fitOwnerAndMode(folder, name, found, resource, account))
        sayDrift(site, before, source, 'had another owner or mode');
    } else {
      await replace(site, resource, { folder, name, found, before, account });
      sayDrift(site, before, source, found.kind === 'absent' ? 'was gone' : 'had been changed');
    }
    site.ledger.settle({ id: resource.id, kind: resource.kind, path: resource.path, source, wrote: [wanted] });
  });
}

/** Takes away a file that the mesh put. Content that it did not write is kept and said. */
export async function removeFile(site: Site, entry: FileEntry): Promise<void> {
  const name = path.posix.basename(entry.path);
  try {
    await inFolder(site.root, folderOf(entry.path), undefined, async (folder) => {
      await rm(`${folder.at}/${temporaryName(name)}`, { force: true });
      const found = await look(folder, name);
      if (found.kind === 'absent') return;
      if (found.kind === 'directory') {
        site.kept(`${entry.path} is a directory that the mesh did not make; it stays`);
      } else if (found.kind === 'file' && entry.wrote.includes(found.digest)) {
        await rm(`${folder.at}/${name}`);
        await folder.handle.sync();
      } else {
        site.kept(
          `${entry.path} is no longer declared and holds what the mesh did not write; it is kept as ${await moveAside(folder, name, found)}`,
        );
      }
    });
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  site.ledger.forget(entry);
}

type Replaced = {
  readonly folder: Folder;
  readonly name: string;
  readonly found: Found;
  readonly before: FileEntry | undefined;
  readonly account: Account;
};

async function replace(
  site: Site,
  resource: FileResource | SecretResource,
  { folder, name, found, before, account }: Replaced,
): Promise<void> {
  const content = contentOf(site, resource);
  try {
    const isOurs = found.kind === 'file' && before?.wrote.includes(found.digest) === true;
    if (found.kind !== 'absent' && !isOurs) {
      site.kept(
        `${resource.path} held what the mesh did not write; it is kept as ${await putAside(folder, name, found)}`,
      );
    }
    const wrote = [...(isOurs ? [found.digest] : []), digestOf(content)];
    const intended = { id: resource.id, kind: resource.kind, path: resource.path, wrote };
    await site.ledger.intend(before?.source === undefined ? intended : { ...intended, source: before.source });
    await writeWhole(folder.at, name, { content, mode: bitsOf(resource.mode), uid: account.uid, gid: account.gid });
  } finally {
    content.fill(0);
  }
}

function contentOf(site: Site, resource: FileResource | SecretResource): Uint8Array {
  return resource.kind === 'secret' ? site.openSecret(resource) : Buffer.from(resource.content, resource.encoding);
}

/** The digest that the file should have. A secret that was made from the same blob before is not opened to learn it. */
function wantedDigest(
  site: Site,
  resource: FileResource | SecretResource,
  before: FileEntry | undefined,
  source: string,
): string {
  const [only, ...more] = before?.wrote ?? [];
  if (resource.kind === 'secret' && before?.source === source && only !== undefined && more.length === 0) return only;
  const content = contentOf(site, resource);
  const digest = digestOf(content);
  content.fill(0);
  return digest;
}

/** Gives a file whose content is right its owner and mode; answers whether it had others. */
async function fitOwnerAndMode(
  folder: Folder,
  name: string,
  found: Extract<Found, { kind: 'file' }>,
  resource: FileResource | SecretResource,
  account: Account,
): Promise<boolean> {
  const isFit = found.mode === bitsOf(resource.mode) && found.uid === account.uid && found.gid === account.gid;
  if (isFit) return false;
  const handle = await open(`${folder.at}/${name}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    // The owner first: giving a file away clears bits of its mode.
    if (found.uid !== account.uid || found.gid !== account.gid) await handle.chown(account.uid, account.gid);
    await handle.chmod(bitsOf(resource.mode));
    await handle.sync();
  } finally {
    await handle.close();
  }
  return true;
}

/** The permission bits of a mode as it is declared, like "0644". */
export function bitsOf(mode: string): number {
  return Number.parseInt(mode, 8);
}

function fileEntryAt(site: Site, path: string): FileEntry | undefined {
  const entry = site.ledger.at(path);
  return entry?.kind === 'file' || entry?.kind === 'secret' ? entry : undefined;
}

/** It is drift only when this very resource had been applied before: anything else is the apply itself. */
function sayDrift(site: Site, before: FileEntry | undefined, source: string, what: string): void {
  if (before?.source === source) site.drifted(`${before.path} ${what} and was put back`);
}
