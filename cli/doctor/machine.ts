/** Looks at the machine itself: files and their modes, room, and where the programs of the foundation are. Changes nothing. */
import { access, constants, lstat, readdir, readFile, statfs, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { provisionerSeat } from '../../src/bus/accounts.ts';
import { unknown, whyUnseen, type Finding, type Looked } from '../../src/domain/doctor/finding.ts';
import {
  judgeDisk,
  judgeMemory,
  judgeNode,
  judgeProgram,
  judgeSecrets,
  judgeStateFolder,
  type PrivateFile,
  type ProgramSeen,
  type SecretsSeen,
  type StateFolderSeen,
} from '../../src/domain/doctor/machine.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { errorChain } from '../../src/domain/words/error-chain.ts';
import { controllerSecretFiles } from '../../src/foundation/controller-keys.ts';
import { hasCode } from '../../src/foundation/files.ts';
import { lookForPostgres } from '../../src/foundation/postgres-programs.ts';
import { lookForProgram, mayFetch, type ProgramName } from '../../src/foundation/programs.ts';
import { statePaths } from '../../src/host/state.ts';
import { localNodeFolder, nodeStateFolder } from '../node-folders.ts';
import type { Env, Settings } from '../settings.ts';
import { nodeAsked } from '../version.ts';
import { within } from './within.ts';

export type MachineAsked = {
  readonly settings: Settings;
  readonly withinMs: number;
  /** Whether a mesh was raised in the state folder: then its secrets have to be there. */
  readonly isRaised: boolean;
  /** Nodes that live in the state folder beside the controller. */
  readonly localNodes: readonly string[];
};

/** One finding for each thing that this machine has to be. */
export async function lookAtMachine({
  settings,
  withinMs,
  isRaised,
  localNodes,
}: MachineAsked): Promise<readonly Finding[]> {
  const { stateFolder, env } = settings;
  const seen = <Value>(of: string, look: () => Promise<Value>, judge: (value: Value) => Finding | readonly Finding[]) =>
    within(withinMs, look).then((looked) => judged(of, looked, judge));
  const looks = await Promise.all([
    seen(
      'state folder',
      () => stateFolderSeen(stateFolder),
      (found) => judgeStateFolder(stateFolder, found),
    ),
    seen('key files', () => secretsSeen({ stateFolder, isRaised, localNodes }), judgeSecrets),
    seen(
      'disk',
      () => freeDisk(stateFolder),
      ({ where, freeBytes }) => judgeDisk(where, { freeBytes }),
    ),
    seen('memory', availableMemory, judgeMemory),
    ...(['nats-server', 'temporal'] as const).map((name) =>
      seen(
        name,
        () => programSeen(name, env, withinMs),
        (found) => judgeProgram(name, found),
      ),
    ),
    seen(
      'postgres',
      () => postgresSeen(env),
      (found) => judgeProgram('postgres', found),
    ),
  ]);
  return [judgeNode({ version: process.versions.node, asks: nodeAsked }), ...looks.flat()];
}

function judged<Value>(
  of: string,
  looked: Looked<Value>,
  judge: (value: Value) => Finding | readonly Finding[],
): Finding | readonly Finding[] {
  return looked.kind === 'seen' ? judge(looked.value) : unknown('this machine', of, whyUnseen(looked));
}

async function stateFolderSeen(folder: string): Promise<StateFolderSeen> {
  const found = await orAbsent(stat(folder));
  if (found === undefined) return { kind: 'absent' };
  if (!found.isDirectory()) return { kind: 'not a folder' };
  const isWritable = await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  return { kind: 'folder', isWritable, mode: found.mode & 0o777 };
}

/** The folders of private keys that there are: the controller's, the provisioner's, and each node's that lives here. */
async function secretsSeen({
  stateFolder,
  isRaised,
  localNodes,
}: {
  readonly stateFolder: string;
  readonly isRaised: boolean;
  readonly localNodes: readonly string[];
}): Promise<SecretsSeen> {
  const nodeFolders = [stateFolder, ...localNodes.map((node) => localNodeFolder(stateFolder, node))].map((folder) =>
    path.join(nodeStateFolder(folder), statePaths.keys),
  );
  const places = [path.join(stateFolder, 'secrets'), path.join(stateFolder, provisionerSeat), ...nodeFolders];
  const [folders, files]: [PrivateFile[], PrivateFile[]] = [[], []];
  for (const place of places) {
    const folder = await orAbsent(stat(place));
    if (folder === undefined || !folder.isDirectory()) continue;
    folders.push({ path: place, mode: folder.mode & 0o777 });
    for (const name of (await readdir(place)).toSorted()) {
      const file = await orAbsent(lstat(path.join(place, name)));
      if (file?.isFile() === true) files.push({ path: path.join(place, name), mode: file.mode & 0o777 });
    }
  }
  const there = new Set(files.map((file) => file.path));
  return {
    folders,
    files,
    missing: isRaised ? controllerSecretFiles(stateFolder).filter((file) => !there.has(file)) : [],
  };
}

/** Of a folder that is not there yet, the file system that it would be on. */
async function freeDisk(folder: string): Promise<{ readonly where: string; readonly freeBytes: number }> {
  for (let where = folder; ; where = path.dirname(where)) {
    const found = await orAbsent(statfs(where));
    if (found !== undefined) return { where, freeBytes: found.bavail * found.bsize };
    if (path.dirname(where) === where) throw new Error(`there is no file system of ${folder}`);
  }
}

async function availableMemory(): Promise<{ readonly availableBytes: number }> {
  // What a program can have without anything being swapped, which is more than what is free.
  const said = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const kibibytes = /^MemAvailable:\s*(\d+) kB$/m.exec(said)?.[1];
  return { availableBytes: kibibytes === undefined ? os.freemem() : Number(kibibytes) * 1024 };
}

async function programSeen(name: ProgramName, env: Env, withinMs: number): Promise<ProgramSeen> {
  const found = await lookForProgram(name, env, { withinMs });
  if (isRefusal(found)) return { kind: 'wrong', says: found.what, next: found.next };
  if (found !== undefined) return { kind: 'found', ...found };
  const pip = await mayFetch(name, env, withinMs);
  if (pip !== true) return { kind: 'wrong', says: pip.what, next: pip.next };
  return { kind: 'not yet', says: 'not on this machine; mesh up has pip fetch it, which was not tried here' };
}

async function postgresSeen(env: Env): Promise<ProgramSeen> {
  let found: Awaited<ReturnType<typeof lookForPostgres>>;
  try {
    found = await lookForPostgres(env);
  } catch (fault) {
    return { kind: 'wrong', says: errorChain(fault), next: ['npm ci'] };
  }
  const { version, at } = found;
  if (at === undefined)
    return { kind: 'not yet', says: `its package (${version}) is installed; mesh up makes it ready for this machine` };
  return { kind: 'found', path: at, version, from: 'npm' };
}

async function orAbsent<Value>(look: Promise<Value>): Promise<Value | undefined> {
  return look.catch((error: unknown) => {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  });
}
