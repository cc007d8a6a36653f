import { z } from 'zod';
import { manifest } from '../domain/manifest/manifest.ts';
import type { CatalogueModule } from '../domain/resolution/inventory.ts';
import { moduleName } from '../domain/words/names.ts';
import type { Query } from './query.ts';

const key = z.object({ module: moduleName, version: z.string(), digest: z.string() });
type Key = z.infer<typeof key>;

const row = key.extend({
  manifest,
  files: z
    .record(z.string(), z.object({ content: z.string(), encoding: z.enum(['utf8', 'base64']), mode: z.string() }))
    .transform((files) => new Map(Object.entries(files))),
});

/** The catalogue as it is now. */
export type ManifestCache = { read(query: Query): Promise<readonly CatalogueModule[]> };

/**
 * Reads and parses each manifest once per (module, version, digest), and forgets what the catalogue no longer has. The catalogue
 * is the same list as long as it is the same.
 */
export function manifestCache(): ManifestCache {
  let known: ReadonlyMap<string, CatalogueModule> = new Map();
  let list: readonly CatalogueModule[] = [];
  return {
    read: async (query) => {
      const keys = await query.rows(
        key,
        `select m.module, m.version, v.digest
           from mesh.modules m
           join mesh.module_versions v on v.module = m.module and v.version = m.version
          order by m.module`,
      );
      const wanted = keys.map(cacheKey);
      if (wanted.length === known.size && wanted.every((one) => known.has(one))) return list;
      const found = new Map(known);
      const missing = keys.filter((one) => !found.has(cacheKey(one)));
      if (missing.length > 0) {
        const rows = await query.rows(
          row,
          `select v.module, v.version, v.digest, v.manifest, v.files
             from mesh.module_versions v
             join jsonb_to_recordset($1::jsonb) as k (module text, version text) on v.module = k.module and v.version = k.version`,
          [JSON.stringify(missing)],
        );
        for (const one of rows) found.set(cacheKey(one), { manifest: one.manifest, files: one.files });
      }
      known = new Map(keys.map((one) => [cacheKey(one), held(found, one)]));
      list = [...known.values()];
      return list;
    },
  };
}

const cacheKey = ({ module, version, digest }: Key): string => `${module} ${version} ${digest}`;

function held(found: ReadonlyMap<string, CatalogueModule>, one: Key): CatalogueModule {
  const module = found.get(cacheKey(one));
  if (module === undefined)
    throw new Error(`module ${one.module} ${one.version} is in the catalogue without its manifest`);
  return module;
}
