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
import { Waits, type Site } from './site.ts';

/** Puts a file or a secret as declared. Throws when it cannot; the file is then the old one, whole. */
export async function putFile(site: Site, resource: FileResource | SecretResource): Promise<void> {
  const making = makingOf(site, resource);
  const before = fileEntryAt(site, resource.path);
  if (making.kind === 'left') {
    // What was filled in from another text is not what is declared now, nor is what somebody made of it since.
    const isOfThisText = before?.source?.startsWith(making.source) === true;
    if (!isOfThisText || !(await isAsWritten(site, before))) throw new Waits(`it waits: ${making.why}`);
    return;
  }
  const account = await accountOf(resource.owner);
  const name = path.posix.basename(resource.path);
  await inFolder(site.root, folderOf(resource.path), parentsOf(site), async (folder) => {
    await rm(`${folder.at}/${temporaryName(name)}`, { force: true });
    const found = await look(folder, name);
    const { source } = making;
    const [only, ...more] = before?.wrote ?? [];
    // What was made from the same source before is not made again to learn what it is: a secret stays closed.
    const known = making.isDear && before?.source === source && more.length === 0 ? only : undefined;
    let content: Uint8Array | undefined;
    try {
      content = known === undefined ? await making.content() : undefined;
      const wanted = content === undefined ? known : digestOf(content);
      if (found.kind === 'file' && found.digest === wanted) {
        if (await fitOwnerAndMode(folder, name, found, resource, account))
          sayDrift(site, before, source, 'had another owner or mode');
      } else {
        content ??= await making.content();
        await replace(site, resource, { folder, name, found, before, account, content });
        sayDrift(site, before, source, found.kind === 'absent' ? 'was gone' : 'had been changed');
      }
      const wrote = content === undefined ? known : digestOf(content);
      site.ledger.settle({
        id: resource.id,
        kind: resource.kind,
        path: resource.path,
        source,
        wrote: wrote === undefined ? [] : [wrote],
      });
    } finally {
      content?.fill(0);
    }
  });
}

async function isAsWritten({ root }: Site, { path: at, wrote }: FileEntry): Promise<boolean> {
  try {
    const found = await inFolder(root, folderOf(at), undefined, (folder) => look(folder, path.posix.basename(at)));
    return found.kind === 'file' && wrote.includes(found.digest);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

const parentsOf = (site: Site) => (made: string) => site.ledger.intendParent(made);

/** `source`: the digest of all that it is made from. `isDear`: making it opens a secret or asks others. */
type Making =
  | {
      readonly kind: 'made';
      readonly source: string;
      readonly isDear: boolean;
      readonly content: () => Promise<Uint8Array>;
    }
  | { readonly kind: 'left'; readonly source: string; readonly why: string };

function makingOf(site: Site, resource: FileResource | SecretResource): Making {
  const source = digestOfValue(resource);
  if (resource.kind === 'secret')
    return { kind: 'made', source, isDear: true, content: async () => site.openSecret(resource) };
  if (resource.fill === undefined) {
    const content = async (): Promise<Uint8Array> => Buffer.from(resource.content, resource.encoding);
    return { kind: 'made', source, isDear: false, content };
  }
  const filling = site.filling(resource);
  switch (filling.kind) {
    case 'fillable':
      return {
        kind: 'made',
        source: `${source} ${filling.source}`,
        isDear: true,
        content: filling.content,
      };
    case 'left':
      return { ...filling, source };
    case 'unfillable':
      throw new Waits(filling.reason);
    default:
      return filling satisfies never;
  }
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
  readonly content: Uint8Array;
};

async function replace(
  site: Site,
  resource: FileResource | SecretResource,
  { folder, name, found, before, account, content }: Replaced,
): Promise<void> {
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
