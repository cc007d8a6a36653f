import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { ModuleName } from '../../domain/words/names.ts';
import type { ModuleRows, NewModule } from '../ports/module-rows.ts';
import type { EventRows, Writes } from '../ports/work.ts';

export type AddedModule = {
  readonly module: ModuleName;
  readonly version: string;
  readonly digest: string;
  readonly change: 'added' | 'changed' | 'same';
};

/** Adds a module to the catalogue, or changes the one of that name (M15). */
export function addModule(
  store: Writes<ModuleRows & EventRows>,
  person: string,
  added: NewModule,
): Promise<AddedModule | Refusal> {
  const { module, version } = added.manifest;
  const { digest } = added;
  return store.write(person, async (tx): Promise<AddedModule> => {
    const known = await tx.moduleManifest(module);
    if (known?.digest === digest && known.version === version) return { module, version, digest, change: 'same' };
    await tx.putModule(added);
    const change = known === undefined ? 'added' : 'changed';
    await tx.event({ kind: `module-${change}`, about: module, detail: { version, digest } });
    return { module, version, digest, change };
  });
}
