/** Small modules for tests of acts, written as a person would write them. */
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { parseManifest } from '../../src/domain/manifest/parse-manifest.ts';
import { moduleName, type NodeName } from '../../src/domain/words/names.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { addModule } from '../../src/operations/module/add-module.ts';
import { digestOf } from '../../src/sealing/digest.ts';
import type { Store } from '../../src/store/store.ts';

export const databaseModule = {
  module: 'postgres',
  version: '1.0.0',
  provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
  listens: { sql: 5432 },
  resources: [{ kind: 'directory', path: '/var/lib/postgres', unknown: 'program' }],
};

export const consumerModule = (module: string, form: string) => ({
  module,
  version: '1.0.0',
  requires: ['postgres-database'],
  secrets: { 'postgres-database': { file: `/etc/${module}/db`, as: form } },
  resources: [{ kind: 'directory', path: `/etc/${module}`, unknown: 'program' }],
});

export async function addAll(store: Store, modules: readonly object[]): Promise<void> {
  for (const written of modules) {
    const manifest = parseManifest(written, 'module.yaml');
    if (isRefusal(manifest)) throw new Error(JSON.stringify(manifest));
    const added = await addModule(store, 'ada', {
      manifest,
      files: new Map(),
      digest: digestOf(JSON.stringify(manifest)),
    });
    if (isRefusal(added)) throw new Error(added.what);
  }
}

export async function place(store: Store, node: NodeName, module: string): Promise<void> {
  const answer = await assign(store, 'ada', { node, module: moduleName.parse(module) });
  if (isRefusal(answer)) throw new Error(JSON.stringify(answer));
}
