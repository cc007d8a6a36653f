/** What people would have asked of the mesh, put into the store: modules by the product's own operation, rows in bulk. */
import { isRefusal } from '../src/domain/refusal/refusal.ts';
import { parseManifest } from '../src/domain/manifest/parse-manifest.ts';
import { addModule } from '../src/operations/module/add-module.ts';
import { digestOf } from '../src/sealing/digest.ts';
import type { RaisedMesh } from './raised-mesh.ts';
import { firstPort } from './wide-mesh.ts';

export async function addWritten({ store }: Pick<RaisedMesh, 'store'>, written: object): Promise<void> {
  const manifest = parseManifest(written, 'module.yaml');
  if (isRefusal(manifest)) throw new Error(JSON.stringify(manifest));
  const digest = digestOf(JSON.stringify(manifest));
  const added = await addModule(store, 'ada', { manifest, files: new Map(), digest });
  if (isRefusal(added)) throw new Error(added.what);
}

/** Every module on every node, each of its ports assigned. */
export async function assignAll({ pg }: Pick<RaisedMesh, 'pg'>): Promise<void> {
  await pg.query(`
    insert into mesh.assignments (node, module) select node, module from mesh.nodes, mesh.modules;
    insert into mesh.ports (node, module, listens, protocol, port, fixed)
      select node, module, 'http', 'tcp', ${firstPort} - 1 + row_number() over (partition by node order by length(module), module), false
        from mesh.assignments;
    analyze`);
}
