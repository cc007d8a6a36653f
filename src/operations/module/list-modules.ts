import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { Manifest } from '../../domain/manifest/manifest.ts';
import type { ModuleName } from '../../domain/words/names.ts';
import type { ModuleReads, ModuleRow } from '../ports/module-rows.ts';
import type { Reads } from '../ports/work.ts';

/** The catalogue, by name. */
export function listModules(store: Reads<ModuleReads>): Promise<readonly ModuleRow[]> {
  return store.read((view) => view.moduleRows());
}

export type ShownModule = ModuleRow & { readonly manifest: Manifest; readonly files: readonly string[] };

/** One module of the catalogue, with its manifest and the names of the files it brought; refused as `unknown-module`. */
export async function showModule(store: Reads<ModuleReads>, module: ModuleName): Promise<ShownModule | Refusal> {
  return (await store.read((view) => view.moduleManifest(module))) ?? unknownModule(module);
}

/** No module of the catalogue has this name. */
export function unknownModule(module: string): Refusal {
  return {
    kind: 'unknown-module',
    what: `there is no module ${module}`,
    why: 'a module is known once it was added to the catalogue',
    next: ['mesh module list', 'mesh module add <folder>'],
    facts: { module },
  };
}
