import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { connectionOf } from '../../src/store/address.ts';
import { inventory } from '../../src/store/inventory.ts';
import { manifestCache } from '../../src/store/manifest-cache.ts';
import { queryOf, type Query } from '../../src/store/query.ts';
import { add, raiseWorlds, type World, type Worlds } from '../operations/world.ts';

let worlds: Worlds;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());

/** So many nodes with every module, a port, a binding and a secret each. */
async function aMesh(nodes: number, modules: number): Promise<World> {
  const world = await worlds.make();
  for (let index = 1; index <= modules; index += 1) await add(world, { module: `m${index}`, listens: { http: 80 } });
  await world.ask(`
    insert into mesh.nodes (node, state, address, sealing_fingerprint, capabilities_reported)
      select 'n' || i, 'joined', '127.0.0.1', 'k', true from generate_series(1, ${nodes}) i;
    insert into mesh.node_capabilities (node, name, present) select node, 'firewall', true from mesh.nodes;
    insert into mesh.assignments (node, module) select node, module from mesh.nodes, mesh.modules;
    insert into mesh.ports (node, module, listens, protocol, port, fixed)
      select node, module, 'http', 'tcp', 20000 + row_number() over (partition by node order by module), false from mesh.assignments;
    insert into mesh.bindings (node, module, provision, provider_node, provider_module) select node, module, 'thing', 'n1', 'm1' from mesh.assignments;
    insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module, generation, stage, origin,
        consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint)
      select 'thing', 'n1', 'm1', node, module, 1, 'current', 'made', decode(repeat('ab', 91), 'hex'), 'k', decode(repeat('cd', 91), 'hex'), 'k' from mesh.assignments;
    insert into mesh.own_secrets (node, module, name, origin, node_blob, node_fingerprint) select node, module, 'own', 'made', 'x', 'k' from mesh.assignments;
    insert into mesh.pins (node, provision, provider_node) select node, 'thing', 'n1' from mesh.nodes`);
  return world;
}

async function counted(world: World, reads = 1) {
  const client = new pg.Client(connectionOf(world.address));
  await client.connect();
  let queries = 0;
  const query = queryOf(client);
  const counting: Query = {
    rows: async (...given) => ((queries += 1), query.rows(...given)),
    first: async (...given) => ((queries += 1), query.first(...given)),
    tuples: async (...given) => ((queries += 1), query.tuples(...given)),
    run: async (...given) => ((queries += 1), query.run(...given)),
  };
  const manifests = manifestCache();
  try {
    let read = await inventory(counting, manifests);
    for (let again = 1; again < reads; again += 1) {
      queries = 0;
      read = await inventory(counting, manifests);
    }
    return { read, queries };
  } finally {
    await client.end();
  }
}

test('the inventory of any mesh takes the same number of queries, and one fewer when the manifests are known', async () => {
  const small = await counted(await aMesh(1, 1));
  const large = await aMesh(40, 5);
  const first = await counted(large);
  expect(first.queries).toBe(small.queries);
  expect((await counted(large, 2)).queries).toBe(first.queries - 1);
  const { read } = first;
  expect(read).toMatchObject({
    nodes: { length: 40 },
    modules: { length: 5 },
    assignments: { length: 200 },
    ports: { length: 200 },
    bindings: { length: 200 },
    pairSecrets: { length: 200 },
    ownSecrets: { length: 200 },
    pins: { length: 40 },
  });
  expect(read.pairSecrets[0]).toEqual({
    key: { provision: 'thing', providerNode: 'n1', providerModule: 'm1', consumerNode: 'n1', consumerModule: 'm1' },
    generation: 1,
    stage: 'current',
    origin: 'made',
    consumer: { sealed: Buffer.alloc(91, 0xab).toString('base64'), fingerprint: 'k' },
    provider: { sealed: Buffer.alloc(91, 0xcd).toString('base64'), fingerprint: 'k' },
  });
  expect(read.nodes[0]).toEqual({
    name: 'n1',
    address: '127.0.0.1',
    sealingFingerprint: 'k',
    capabilities: [{ name: 'firewall', present: true, detail: {} }],
    carriedPorts: [],
  });
});

test('a manifest that changed is read anew, also under the same version', async () => {
  const world = await aMesh(1, 2);
  const names = () =>
    world.store.read(async (view) => (await view.inventory()).modules.map(({ manifest }) => manifest.describes ?? '-'));
  expect(await names()).toEqual(['-', '-']);
  await add({ ...world, store: world.another() }, { module: 'm2', describes: 'changed', listens: { http: 80 } });
  expect(await names()).toEqual(['-', 'changed']);
});

test('a withdrawn generation is not in the inventory', async () => {
  const world = await aMesh(1, 1);
  await world.ask(`update mesh.pair_secrets set stage = 'withdrawn'`);
  expect((await counted(world)).read.pairSecrets).toEqual([]);
});
