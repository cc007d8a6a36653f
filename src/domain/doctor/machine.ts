/** What the machine itself has to be: its Node.js, its state folder and the secrets in it, its room, the programs of the foundation. */
import { given } from '../words/given.ts';
import type { Finding, Standing } from './finding.ts';

const part = 'this machine';
const mebibyte = 1024 * 1024;
/** Below this the store and the bus soon have no room to write: both stop at a full disk. */
const leastDiskBytes = 1024 * mebibyte;
/** What the foundation and the mesh's processes take when they are raised, and a little. */
const leastMemoryBytes = 128 * mebibyte;

const size = (bytes: number): string =>
  bytes >= 1024 * mebibyte ? `${(bytes / (1024 * mebibyte)).toFixed(1)} GiB` : `${Math.floor(bytes / mebibyte)} MiB`;
const octal = (mode: number): string => `0${(mode & 0o777).toString(8).padStart(3, '0')}`;

/** The Node.js that runs this, against what package.json asks for (`>=20.11`: the one form that it has). */
export function judgeNode({ version, asks }: { readonly version: string; readonly asks: string }): Finding {
  const of = 'Node.js';
  const numbers = (text: string): readonly number[] => (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? '').split('.').map(Number);
  const [is, least] = [numbers(version), numbers(asks)];
  const apart = least.map((each, at) => (is[at] ?? 0) - each).find((difference) => difference !== 0) ?? 0;
  const says = `${version}, and mesh asks for ${asks}`;
  return apart < 0
    ? { part, of, is: 'wrong', says, next: [`install Node.js ${asks.replace('>=', '')} or newer, then npm ci`] }
    : { part, of, is: 'ok', says, next: [] };
}

export type StateFolderSeen =
  | { readonly kind: 'absent' }
  | { readonly kind: 'not a folder' }
  | { readonly kind: 'folder'; readonly isWritable: boolean; readonly mode: number };

/** Where this machine keeps its part of the mesh: there, writable for whoever asks, and for nobody else. */
export function judgeStateFolder(where: string, seen: StateFolderSeen): Finding {
  const of = 'state folder';
  const wrong = (says: string, ...next: string[]): Finding => ({ part, of, is: 'wrong', says, where, next });
  switch (seen.kind) {
    case 'absent':
      return wrong('it is not there: nothing of a mesh is kept here', 'mesh up');
    case 'not a folder':
      return wrong('something that is no folder has its name', 'mesh --state DIR doctor   # or MESH_STATE');
    case 'folder':
      if (!seen.isWritable)
        return wrong('this user may not write in it', 'run mesh as the user who owns it, or: mesh --state DIR doctor');
      // Whoever may write here may put another file in the place of any.
      if ((seen.mode & 0o022) !== 0)
        return wrong(`others may write in it (mode ${octal(seen.mode)})`, `chmod go-w '${where}'`);
      return { part, of, is: 'ok', says: `writable for its owner alone (mode ${octal(seen.mode)})`, where, next: [] };
  }
}

export type PrivateFile = { readonly path: string; readonly mode: number };
export type SecretsSeen = {
  /** Folders that hold private keys, with their own mode. */
  readonly folders: readonly PrivateFile[];
  /** Every file in them, links and folders apart. */
  readonly files: readonly PrivateFile[];
  /** Files that must be there and are not. */
  readonly missing: readonly string[];
};

/** S21: each folder of secrets 0700, each file in it 0600. One finding for each that is not so, and one when all are. */
export function judgeSecrets({ folders, files, missing }: SecretsSeen): readonly Finding[] {
  const open =
    (of: string, mode: string) =>
    (found: PrivateFile): readonly Finding[] =>
      (found.mode & 0o077) === 0
        ? []
        : [
            {
              part,
              of,
              is: 'wrong',
              says: `others than its owner may use it (mode ${octal(found.mode)})`,
              where: found.path,
              next: [`chmod ${mode} '${found.path}'`],
            },
          ];
  const wrong = [
    ...folders.flatMap(open('folder of secrets', '0700')),
    ...files.flatMap(open('key file', '0600')),
    ...missing.map((where): Finding => ({
      part,
      of: 'key file',
      is: 'wrong',
      says: 'it is not there, and nothing can make the same one again',
      where,
      next: [`put ${where} back from a copy of the state folder`],
    })),
  ];
  if (wrong.length > 0 || folders.length === 0) return wrong;
  const says = `${files.length} in ${folders.length === 1 ? 'one folder' : `${folders.length} folders`}, open to their owner alone`;
  return [{ part, of: 'key files', is: 'ok', says, ...given('where', folders[0]?.path), next: [] }];
}

/** Room on the file system of the state folder. */
export function judgeDisk(where: string, { freeBytes }: { readonly freeBytes: number }): Finding {
  const is: Standing = freeBytes < leastDiskBytes ? 'wrong' : 'ok';
  const says = `${size(freeBytes)} free`;
  return {
    part,
    of: 'disk',
    is,
    says: is === 'ok' ? says : `${says}: below ${size(leastDiskBytes)} the store and the bus may stop writing`,
    where,
    next: is === 'ok' ? [] : [`df -h '${where}'   # then make room on it`],
  };
}

/** Memory that a program that starts now would get. */
export function judgeMemory({ availableBytes }: { readonly availableBytes: number }): Finding {
  const is: Standing = availableBytes < leastMemoryBytes ? 'wrong' : 'ok';
  const next = is === 'ok' ? [] : ['free -m   # then end what is not needed'];
  return { part, of: 'memory', is, says: `${size(availableBytes)} available`, next };
}

/** Where a program of the foundation is (U11), or why not. `from`: which of the ways led to it. */
export type ProgramSeen =
  | { readonly kind: 'found'; readonly path: string; readonly version?: string; readonly from: string }
  | { readonly kind: 'wrong'; readonly says: string; readonly next: readonly string[] }
  /** `mesh up` has a way to it that was not tried here. */
  | { readonly kind: 'not yet'; readonly says: string };

export function judgeProgram(of: string, seen: ProgramSeen): Finding {
  switch (seen.kind) {
    case 'found': {
      const says = `${seen.version === undefined ? 'found' : `version ${seen.version}`}, by ${seen.from}`;
      return { part, of, is: 'ok', says, where: seen.path, next: [], facts: { from: seen.from } };
    }
    case 'wrong':
      return { part, of, is: 'wrong', says: seen.says, next: seen.next };
    case 'not yet':
      return { part, of, is: 'unknown', says: seen.says, next: ['mesh up'] };
  }
}
