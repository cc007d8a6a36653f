/** The catalogue by what it is asked for. */
import type { Provides } from '../manifest/manifest.ts';
import { grouped } from '../words/grouped.ts';
import type { ModuleName, ProvisionName } from '../words/names.ts';
import type { CatalogueModule } from './inventory.ts';

export type Catalogue = {
  readonly modules: ReadonlyMap<ModuleName, CatalogueModule>;
  /** Modules that provide a provision of that scope, sorted by name. */
  readonly localProviders: ReadonlyMap<ProvisionName, readonly ModuleName[]>;
  readonly meshProviders: ReadonlyMap<ProvisionName, readonly ModuleName[]>;
};

const catalogues = new WeakMap<readonly CatalogueModule[], Catalogue>();

/** The same list gives the same catalogue. */
export function catalogueOf(modules: readonly CatalogueModule[]): Catalogue {
  const known = catalogues.get(modules);
  if (known !== undefined) return known;
  const made = {
    modules: new Map(modules.map((module) => [module.manifest.module, module])),
    localProviders: providersOf(modules, 'node'),
    meshProviders: providersOf(modules, 'mesh'),
  };
  catalogues.set(modules, made);
  return made;
}

function providersOf(
  modules: readonly CatalogueModule[],
  scope: Provides['scope'],
): ReadonlyMap<ProvisionName, readonly ModuleName[]> {
  const offers = modules.flatMap(({ manifest }) =>
    manifest.provides
      .filter((one) => one.scope === scope)
      .map((one) => ({ provision: one.name, module: manifest.module })),
  );
  return new Map(
    [...grouped(offers, (one) => one.provision)].map(([provision, those]) => [
      provision,
      those.map((one) => one.module).toSorted(),
    ]),
  );
}
