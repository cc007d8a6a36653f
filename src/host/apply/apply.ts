/**
 * One apply: the plan's operations one after the other, then whether the processes run. It goes on past what fails, so
 * that one bad file does not hold up a node; what leans on what failed is not tried. Applying again changes nothing (D13).
 */
import path from 'node:path';
import type { Declaration, FileResource, ProcessResource, Resource } from '../../domain/declaration/declaration.ts';
import type { Report } from '../../domain/report/report.ts';
import { open, type SealingKey } from '../../sealing/box.ts';
import { accountOf } from '../accounts.ts';
import { errorChain, hasCode } from '../fault.ts';
import { folderOf, inFolder } from '../folder.ts';
import type { Ledger, LedgerEntry } from '../ledger.ts';
import { declaredPaths, liesUnder, planApply, processKey } from '../plan.ts';
import { launchSpec, type Surroundings } from '../processes/launch-spec.ts';
import type { Supervisor } from '../processes/supervisor.ts';
import { putDirectory, removeDirectory, removeIfEmpty } from './directory.ts';
import { putFile, removeFile } from './file.ts';
import { look } from './found.ts';
import { secretFile } from './secret-forms.ts';
import { Waits, type Filling, type Site } from './site.ts';

export type Failure = {
  readonly resource: string;
  readonly error: string;
  /** Nothing is wrong but that a value is still to come. */
  readonly waits?: true;
};
/** What did not come to be: resource id → why. */
type Failed = Map<string, Omit<Failure, 'resource'>>;

/** What an apply did, as a report tells it (D16). */
export type Applied = {
  readonly declared: number;
  readonly applied: number;
  readonly failures: readonly Failure[];
  readonly drift: readonly string[];
  readonly kept: readonly string[];
  /** Modules whose files wait, for longer than is ordinary (P10). */
  readonly postponed?: NonNullable<Report['postponed']>;
};

export type ApplyWith = {
  /** How files with placeholders are filled on this node. */
  readonly filling: (resource: FileResource) => Filling;
  readonly ledger: Ledger;
  readonly supervisor: Supervisor;
  readonly sealingKey: SealingKey;
  readonly surroundings: Surroundings;
};

/** Makes the node as declared, as far as it goes. Never rejects for what a single resource meets: that is a failure in the answer. */
export async function applyDeclaration(declaration: Declaration, by: ApplyWith): Promise<Applied> {
  const drift: string[] = [];
  const kept: string[] = [];
  const failed: Failed = new Map();
  const site: Site = {
    root: by.surroundings.root,
    ledger: by.ledger,
    declared: declaredPaths(declaration),
    openSecret: (secret) =>
      open(secret.sealed, by.sealingKey).reveal((bytes) => secretFile(secret.form, bytes, secret.facts)),
    filling: by.filling,
    drifted: (sentence) => drift.push(sentence),
    kept: (sentence) => kept.push(sentence),
  };
  const settling: Promise<void>[] = [];
  for (const operation of planApply(by.ledger.entries(), declaration)) {
    const about = operation.does === 'put' ? operation.resource : operation.entry;
    try {
      if (operation.does === 'remove') await remove(site, by.supervisor, operation.entry);
      else if (operation.resource.kind === 'process')
        settling.push((await putProcess(site, declaration, operation.resource, failed, by)).settled);
      else await putPath(site, operation.resource, declaration.resources, failed);
    } catch (error) {
      failed.set(about.id, reasonOf(error));
    }
  }
  await Promise.all(settling);
  await removeParents(site);
  await by.ledger.flush();
  const declared = declaration.resources.length;
  const failures = [...failed].map(([resource, why]) => ({ resource, ...why }));
  return {
    declared,
    applied: declared - declaration.resources.filter(({ id }) => failed.has(id)).length,
    failures,
    drift,
    kept,
  };
}

function reasonOf(error: unknown): Omit<Failure, 'resource'> {
  return { error: errorChain(error), ...(error instanceof Waits ? { waits: true as const } : {}) };
}

/** What leans on something that waits, waits. */
function leaning(failed: Pick<Failed, 'get'>, on: string, says: string): Error {
  return failed.get(on)?.waits === true ? new Waits(says) : new Error(says);
}

async function putPath(
  site: Site,
  resource: Exclude<Resource, ProcessResource>,
  all: readonly Resource[],
  failed: Pick<Failed, 'get' | 'has'>,
): Promise<void> {
  const above = all.find((one) => one.kind === 'directory' && failed.has(one.id) && liesUnder(resource.path, one.path));
  if (above !== undefined) throw new Error(`not tried: ${above.id}, which it lies in, failed`);
  if (resource.kind === 'directory') await putDirectory(site, resource);
  else await putFile(site, resource);
}

async function remove(site: Site, supervisor: Supervisor, entry: LedgerEntry): Promise<void> {
  if (entry.kind === 'directory') return removeDirectory(site, entry);
  if (entry.kind !== 'process') return removeFile(site, entry);
  await supervisor.stop(entry.key);
  site.ledger.forget(entry);
}

/** Starts what has to be started, and answers what ends when it is known whether it runs: processes come up side by side. */
async function putProcess(
  site: Site,
  declaration: Declaration,
  resource: ProcessResource,
  failed: Failed,
  { supervisor, surroundings }: ApplyWith,
): Promise<{ readonly settled: Promise<void> }> {
  const key = processKey(resource);
  const missing = declaration.resources.find(
    (one) => one.kind !== 'process' && failed.has(one.id) && leansOn(resource, one.path),
  );
  if (missing !== undefined && supervisor.pidOf(key) === undefined)
    throw leaning(failed, missing.id, `not started: ${missing.id}, which it reads, failed`);
  const { home } = await accountOf(resource.user);
  const restartOn = await restartDigests(site, resource, failed);
  const spec = launchSpec(declaration, resource, { restartOn, home, surroundings });
  const before = site.ledger.process(key);
  await site.ledger.intend({
    id: resource.id,
    kind: 'process',
    key,
    source: spec.definition,
    ports: Object.values(resource.ports),
  });
  const ensured = await supervisor.ensure(spec);
  if (ensured.did === 'revived')
    site.drifted(`the process ${key} had ended ${ensured.ended ?? ''} and was started again`);
  if (ensured.did === 'started' && before?.source === spec.definition)
    site.drifted(`the process ${key} was not there and was started again`);
  const settled = ensured.settled.then((fault) => {
    if (fault !== undefined) failed.set(resource.id, { error: fault });
  });
  return { settled };
}

/** A process reads the files it is restarted on, and those below the directories among them. */
function leansOn(resource: ProcessResource, path: string): boolean {
  return resource.restartOn.some((one) => one === path || liesUnder(path, one));
}

/** The digests of what a process is restarted on, of what the mesh put by the ledger; of anything else by looking. */
async function restartDigests(
  site: Site,
  resource: ProcessResource,
  failed: Pick<Failed, 'get' | 'has'>,
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const entry of site.ledger.entries()) {
    if ((entry.kind !== 'file' && entry.kind !== 'secret') || !leansOn(resource, entry.path) || failed.has(entry.id))
      continue;
    const [only, ...more] = entry.wrote;
    if (only !== undefined && more.length === 0 && site.declared.has(entry.path)) digests[entry.path] = only;
  }
  for (const path of resource.restartOn) {
    if (!site.declared.has(path)) digests[path] = await digestByLooking(site.root, path);
  }
  return digests;
}

async function digestByLooking(root: string, nodePath: string): Promise<string> {
  try {
    return await inFolder(root, folderOf(nodePath), undefined, async (folder) => {
      const found = await look(folder, path.posix.basename(nodePath));
      return found.kind === 'file' ? found.digest : found.kind;
    });
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'absent';
    throw error;
  }
}

/** Folders that the host made only because something below them was declared go with it, the deeper first. */
async function removeParents(site: Site): Promise<void> {
  const needed = [
    ...site.declared,
    ...site.ledger.entries().flatMap((entry) => (entry.kind === 'process' ? [] : [entry.path])),
  ];
  for (const parent of site.ledger.parents().toSorted((one, other) => other.length - one.length)) {
    if (needed.some((path) => liesUnder(path, parent))) continue;
    await removeIfEmpty(site.root, parent);
    site.ledger.forgetParent(parent);
  }
}
