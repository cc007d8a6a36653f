import { z } from 'zod';
import { manifest } from '../../domain/manifest/manifest.ts';
import { moduleName, type ModuleName } from '../../domain/words/names.ts';
import type { ModuleReads, ModuleRows } from '../../operations/ports/module-rows.ts';
import type { Query } from '../query.ts';

const moduleRow = { module: moduleName, version: z.string(), digest: z.string(), addedAt: z.date() };

export function moduleReads(query: Query): ModuleReads {
  return {
    moduleRows: () =>
      query.rows(
        z.object(moduleRow),
        `select m.module, m.version, v.digest, v.added_at as "addedAt"
           from mesh.modules m
           join mesh.module_versions v on v.module = m.module and v.version = m.version
          order by m.module`,
      ),
    moduleManifest: (module) =>
      query.first(
        z.object({ ...moduleRow, manifest, files: z.array(z.string()) }),
        `select m.module, m.version, v.digest, v.added_at as "addedAt", v.manifest,
                array(select jsonb_object_keys(v.files) order by 1) as files
           from mesh.modules m
           join mesh.module_versions v on v.module = m.module and v.version = m.version
          where m.module = $1`,
        [module],
      ),
  };
}

/** A version is published once every artifact that it builds is recorded. */
export async function publishIfBuilt(
  query: Query,
  { module, version }: { readonly module: ModuleName; readonly version: string },
): Promise<void> {
  await query.run(
    `update mesh.module_versions v set published_at = now()
      where v.module = $1 and v.version = $2 and v.published_at is null
        and not exists (select from jsonb_array_elements(v.manifest -> 'builds') as built
                         where not exists (select from mesh.builds r
                                            where r.module = v.module and r.version = v.version
                                              and r.artifact = built ->> 'artifact'))`,
    [module, version],
  );
}

export function moduleRows(query: Query): ModuleRows {
  return {
    ...moduleReads(query),
    putModule: async ({ manifest: written, files, digest }) => {
      await query.run(
        `insert into mesh.modules (module, version) values ($1, $2)
         on conflict (module) do update set version = excluded.version`,
        [written.module, written.version],
      );
      await query.run(
        `insert into mesh.module_versions (module, version, manifest, files, digest) values ($1, $2, $3, $4, $5)
         on conflict (module, version) do update
            set manifest = excluded.manifest, files = excluded.files, digest = excluded.digest, added_at = now(),
                published_at = null`,
        [written.module, written.version, JSON.stringify(written), JSON.stringify(Object.fromEntries(files)), digest],
      );
      await publishIfBuilt(query, written);
    },
  };
}
