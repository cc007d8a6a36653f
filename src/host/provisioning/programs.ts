/**
 * An account on the bus for each provider's program on this node (P2). The program's key is made here; the controller answers with
 * who it is on the bus. Both are kept beside the grants directory, for whoever may read that, and the program finds them there.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BusConnection } from '../../bus/connection.ts';
import type { Seed } from '../../bus/seed.ts';
import { askVerb, isRefused } from '../../bus/verbs.ts';
import { consumerName } from '../../domain/credential/logins.ts';
import {
  grantsDirectory,
  programAccess,
  programAccountFile,
  programFolder,
  programSeedFile,
  type ProgramAccess,
} from '../../domain/declaration/beside-grants.ts';
import { grantList, grantListFile, type Declaration } from '../../domain/declaration/declaration.ts';
import type { ModuleName, NodeName } from '../../domain/words/names.ts';
import { admitProgramVerb } from '../../seats/the-controller/verbs.ts';
import { removeIfEmpty } from '../apply/directory.ts';
import { errorChain, hasCode } from '../fault.ts';
import { folderOf, inFolder, type Folder } from '../folder.ts';
import { userSeedAt } from '../keys.ts';
import { writeWhole } from '../whole-file.ts';

/** The folder that a program's account is kept in → for which consumers it was last asked, and when. Begins empty with each start of the host. */
export type KnownPrograms = Map<string, { readonly consumers: string; readonly askedMs: number }>;

/** An account may have been taken and not be told of: a provider that was unassigned and assigned again before anything was sent. */
const askAgainMs = 10 * 60_000;

/**
 * Makes sure that each provider's program of the declaration has its account, and takes away what is kept for one that this host
 * knew and that is declared no more. Asks for an account that is not there, when the consumers are others than it was asked for,
 * once after each start of the host and every ten minutes. Never rejects: answers what failed, in words. `nowMs`: of this process alone.
 */
export async function admitPrograms(
  bus: BusConnection,
  declaration: Declaration,
  root: string,
  known: KnownPrograms,
  nowMs: () => number = () => performance.now(),
): Promise<readonly string[]> {
  const faults: string[] = [];
  const doing = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      faults.push(`${what}: ${errorChain(error)}`);
    }
  };
  const programs = programsIn(declaration);
  const declared = new Set(programs.flatMap(({ folders }) => folders));
  for (const folder of [...known.keys()].filter((one) => !declared.has(one)))
    await doing(`${folder} cannot be taken away`, async () => {
      await takeAway(root, folder);
      known.delete(folder);
    });
  for (const program of programs)
    await doing(`the program of ${program.module} has no account on the bus`, () =>
      admit({ bus, root, known, nowMs }, program),
    );
  return faults;
}

/** A module's program on this node: one account, whatever the module provides. */
type Program = {
  readonly node: NodeName;
  readonly module: ModuleName;
  /** One beside each of its grants directories. */
  readonly folders: readonly string[];
  readonly consumers: string;
};

function programsIn(declaration: Declaration): readonly Program[] {
  const { node, granters } = declaration;
  return [...new Set(granters.map(({ module }) => module))].map((module) => {
    const directories = granters
      .filter((one) => one.module === module)
      .flatMap(({ status }) => grantsDirectory(status) ?? []);
    return {
      node,
      module,
      folders: directories.map(programFolder).toSorted(),
      consumers: directories
        .flatMap((directory) => consumersOf(declaration, directory))
        .toSorted()
        .join('\n'),
    };
  });
}

/** Whoever is granted something in a directory, once each: a rotation changes its list and not this. */
function consumersOf({ resources }: Declaration, directory: string): readonly string[] {
  const file = resources.find((one) => one.kind === 'file' && one.path === `${directory}/${grantListFile}`);
  if (file?.kind !== 'file') return [];
  const { provision, grants } = grantList.parse(JSON.parse(file.content));
  const names = grants.map(({ node, module, local }) =>
    consumerName({ consumerNode: node, consumerModule: module, ...(local === undefined ? {} : { local }) }),
  );
  return [...new Set(names)].map((name) => `${provision} ${name}`);
}

type Admitting = {
  readonly bus: BusConnection;
  readonly root: string;
  readonly known: KnownPrograms;
  readonly nowMs: () => number;
};

async function admit({ bus, root, known, nowMs }: Admitting, program: Program): Promise<void> {
  const { node, module, folders, consumers } = program;
  const [first] = folders;
  if (first === undefined) return;
  for (const folder of folders) await makeFolder(root, folder);
  const seed = await inFolder(root, first, undefined, ({ at }) => seedIn(at, first));
  const kept = await Promise.all(folders.map((folder) => readKept(root, folder, program, seed)));
  const isAsked = folders.every((folder) => {
    const last = known.get(folder);
    return last?.consumers === consumers && nowMs() - last.askedMs < askAgainMs;
  });
  if (isAsked && kept.every((one) => one !== undefined)) return;
  const answer = await askVerb(bus, admitProgramVerb, { module, userKey: seed.publicKey });
  if (isRefused(answer)) throw new Error(answer.refused.what);
  const access: ProgramAccess = {
    schema: 'mesh.program',
    version: 1,
    node,
    module,
    userKey: seed.publicKey,
    ...answer,
  };
  for (const [index, folder] of folders.entries()) {
    const text = textOf(access);
    if (kept[index] !== text) await keep(root, folder, seed, text);
    known.set(folder, { consumers, askedMs: nowMs() });
  }
}

const textOf = (access: ProgramAccess): string => `${JSON.stringify(access, null, 2)}\n`;

/** As the grants directory is: for its owner alone, who is the host's. One that is there and as it should be is left alone. */
async function makeFolder(root: string, folder: string): Promise<void> {
  const keepPrivate = async ({ handle }: Folder): Promise<void> => {
    if (((await handle.stat()).mode & 0o7777) !== 0o700) await handle.chmod(0o700);
  };
  try {
    await inFolder(root, folder, undefined, keepPrivate);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await inFolder(root, folderOf(folder), undefined, ({ at }) =>
      mkdir(`${at}/${path.posix.basename(folder)}`, { mode: 0o700 }),
    );
    await inFolder(root, folder, undefined, keepPrivate);
  }
}

async function seedIn(at: string, folder: string): Promise<Seed> {
  try {
    return await userSeedAt(`${at}/${programSeedFile}`);
  } catch (cause) {
    throw new Error(`its key cannot be had from ${folder}`, { cause });
  }
}

/** The account's text in a folder; undefined where there is none, or another program's, or one for another key. */
async function readKept(root: string, folder: string, program: Program, seed: Seed): Promise<string | undefined> {
  return inFolder(root, folder, undefined, async ({ at }) => {
    const [key, text] = await Promise.all([
      readOrNothing(`${at}/${programSeedFile}`),
      readOrNothing(`${at}/${programAccountFile}`),
    ]);
    const isSame = key !== undefined && seed.reveal((bytes) => key.equals(bytes));
    key?.fill(0);
    if (!isSame || text === undefined) return undefined;
    try {
      const { node, module, userKey } = programAccess.parse(JSON.parse(text.toString('utf8')));
      const isIts = node === program.node && module === program.module && userKey === seed.publicKey;
      return isIts ? text.toString('utf8') : undefined;
    } catch {
      // Not what this host writes: written anew.
      return undefined;
    }
  });
}

async function readOrNothing(file: string): Promise<Buffer | undefined> {
  return readFile(file).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
}

/** The key first: an account is only of use to whoever has it. */
async function keep(root: string, folder: string, seed: Seed, text: string): Promise<void> {
  await inFolder(root, folder, undefined, async ({ at }) => {
    const key = seed.reveal((bytes) => Buffer.from(bytes));
    try {
      const before = await readOrNothing(`${at}/${programSeedFile}`);
      const isThere = before?.equals(key) === true;
      before?.fill(0);
      if (!isThere) await writeWhole(at, programSeedFile, { content: key, mode: 0o600 });
    } finally {
      key.fill(0);
    }
    await writeWhole(at, programAccountFile, { content: Buffer.from(text), mode: 0o600 });
  });
}

/** Takes away what the host keeps there, and the folder unless somebody else put something into it. */
async function takeAway(root: string, folder: string): Promise<void> {
  await inFolder(root, folder, undefined, async ({ at }) => {
    for (const name of [programAccountFile, programSeedFile]) await rm(`${at}/${name}`, { force: true });
  }).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  await removeIfEmpty(root, folder);
}
