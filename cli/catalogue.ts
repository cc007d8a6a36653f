/** Which folders make up the catalogue that `mesh module check` judges, and what they describe. */
import { realpath } from 'node:fs/promises';

import { refuseUnbuilt } from '../src/domain/manifest/unbuilt.ts';
import { isRefusal, type Refusal } from '../src/domain/refusal/refusal.ts';
import type { Described } from '../src/domain/resolution/judge-catalogue.ts';
import { describedIn, isModuleFolder, moduleFoldersIn } from './module-folder.ts';

export type Asked = {
  readonly folders: readonly string[];
  /** False when one module was named and nothing to hold it against: whether something provides what it requires cannot be told. */
  readonly isWhole: boolean;
};

/** `catalogue` is $MESH_CATALOG: it stands for DIR when none was named, and else is the rest that those belong to. */
export async function foldersAsked(named: readonly string[], catalogue: string): Promise<Asked> {
  const rest = catalogue.split(':').filter((each) => each !== '');
  const [only, ...more] = named;
  const asked = named.length > 0 || rest.length > 0 ? [...named, ...rest] : ['.'];
  const folders = await onceEach((await Promise.all(asked.map(moduleFoldersIn))).flat());
  const isAlone = more.length === 0 && rest.length === 0 && (await isModuleFolder(only ?? '.'));
  return { folders, isWhole: !isAlone };
}

/** A module that was named and lies in the catalogue as well is one module. */
async function onceEach(folders: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(
    folders.map(async (folder) => ({ folder, at: await realpath(folder).catch(() => folder) })),
  );
  return [...new Map(real.toReversed().map(({ folder, at }) => [at, folder])).values()].toReversed();
}

export type ReadCatalogue = { readonly read: readonly Described[]; readonly refusals: readonly Refusal[] };

/** Each folder's module, those included that this mesh cannot do all of; and whatever keeps one from being added. */
export async function readCatalogue(folders: readonly string[]): Promise<ReadCatalogue> {
  const found = await Promise.all(folders.map(async (folder) => ({ folder, module: await describedIn(folder) })));
  const read: Described[] = [];
  const refusals: Refusal[] = [];
  const answered = found.flatMap(({ module }) =>
    isRefusal(module) ? [] : module.manifest.answers.map(({ kind }) => kind),
  );
  for (const { folder, module } of found) {
    const refusal = isRefusal(module) ? module : refuseUnbuilt(module.manifest, module.files, answered);
    if (refusal !== undefined) refusals.push(refusal);
    if (!isRefusal(module)) read.push({ manifest: module.manifest, files: module.files, folder });
  }
  return { read, refusals };
}
