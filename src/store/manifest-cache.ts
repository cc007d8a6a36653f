import { z } from 'zod';
import { manifest, type Manifest } from '../domain/manifest/manifest.ts';
import { withoutParts } from '../domain/manifest/without-parts.ts';
import type { CatalogueModule } from '../domain/resolution/inventory.ts';
import { given } from '../domain/words/given.ts';
import { present } from '../domain/words/invariant.ts';
import { moduleName, partName } from '../domain/words/names.ts';
import type { Query } from './query.ts';

/** `next`: the version that was added last, while it waits for its builds; `isPublished` is false where no version ever was. */
const key = z.object({
  module: moduleName,
  version: z.string(),
  digest: z.string(),
  isPublished: z.boolean(),
  next: z.object({ version: z.string(), artifacts: z.array(partName) }).exactOptional(),
});
type Key = z.infer<typeof key>;

const row = z.object({
  module: moduleName,
  version: z.string(),
  digest: z.string(),
  manifest,
  files: z
    .record(z.string(), z.object({ content: z.string(), encoding: z.enum(['utf8', 'base64']), mode: z.string() }))
    .transform((files) => new Map(Object.entries(files))),
});

/** The catalogue as it is now. */
export type ManifestCache = { read(query: Query): Promise<readonly CatalogueModule[]> };

/**
 * The catalogue: of each module the version that counts, which is the present one, or the one that was published last while the
 * present one waits for its builds (P9). Reads and parses each manifest once per (module, version, digest), and forgets what the catalogue no longer has. The catalogue
 * is the same list as long as it is the same.
 */
export function manifestCache(): ManifestCache {
  let known: ReadonlyMap<string, CatalogueModule> = new Map();
  let list: readonly CatalogueModule[] = [];
  return {
    read: async (query) => {
      const keys = await query.rows(
        key,
        `select m.module, coalesce(p.version, v.version) as version, coalesce(p.digest, v.digest) as digest,
                coalesce(p.version, case when v.published_at is not null then v.version end) is not null as "isPublished",
                case when v.published_at is null then
                  jsonb_build_object('version', v.version, 'artifacts',
                    array(select built ->> 'artifact' from jsonb_array_elements(v.manifest -> 'builds') as built order by 1))
                end as next
           from mesh.modules m
           join mesh.module_versions v on v.module = m.module and v.version = m.version
           left join lateral (select o.version, o.digest from mesh.module_versions o
                               where v.published_at is null and o.module = m.module and o.published_at is not null
                               order by o.published_at desc, o.version desc limit 1) as p on true
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
        const read = new Map(rows.map((one) => [versionKey(one), one]));
        for (const one of missing) {
          const { manifest: written, files } = present(read.get(versionKey(one)), `the manifest of ${versionKey(one)}`);
          found.set(cacheKey(one), moduleOf(one, written, files));
        }
      }
      known = new Map(keys.map((one) => [cacheKey(one), held(found, one)]));
      list = [...known.values()];
      return list;
    },
  };
}

type Version = { readonly module: string; readonly version: string };
const versionKey = ({ module, version }: Version): string => `${module} ${version}`;
const cacheKey = (one: Key): string => JSON.stringify(one);

function moduleOf({ isPublished, next }: Key, written: Manifest, files: CatalogueModule['files']): CatalogueModule {
  return {
    manifest: isPublished ? written : withoutParts(written),
    files,
    ...given('next', next),
  };
}

function held(found: ReadonlyMap<string, CatalogueModule>, one: Key): CatalogueModule {
  const module = found.get(cacheKey(one));
  if (module === undefined)
    throw new Error(`module ${one.module} ${one.version} is in the catalogue without its manifest`);
  return module;
}
