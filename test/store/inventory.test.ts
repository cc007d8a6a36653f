import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { recordsOf } from '../../src/domain/resolution/node-record.ts';
import { connectionOf } from '../../src/store/address.ts';
import { inventoryReader } from '../../src/store/inventory.ts';
import { moduleName, partName } from '../../src/domain/words/names.ts';
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
  const reader = inventoryReader();
  try {
    let read = await reader.read(counting);
    for (let again = 1; again < reads; again += 1) {
      queries = 0;
      read = await reader.read(counting);
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

test('[P9] a version that waits for its build does not count: the last published one does, and of a module without one its name alone', async () => {
  const world = await worlds.make();
  const builds = { image: { recipe: 'Dockerfile' }, more: { recipe: 'Dockerfile' } };
  const catalogue = async () =>
    (await world.store.read((view) => view.inventory())).modules.map(({ manifest, next }) => [
      manifest.version,
      manifest.settings.length,
      manifest.listens.length,
      next,
    ]);
  const build = (version: string, artifact: string) => ({
    module: moduleName.parse('shop'),
    version,
    artifact: partName.parse(artifact),
    digest: 'sha256:1',
  });
  const shop = { module: 'shop', settings: { title: {} } };
  await add(world, { ...shop, version: '1', listens: { http: 80 }, builds });
  expect(await catalogue()).toEqual([['1', 1, 0, { version: '1', artifacts: ['image', 'more'] }]]);
  await world.store.write('ada', (tx) => tx.insertBuild(build('1', 'image')));
  expect(await catalogue()).toMatchObject([['1', 1, 0, {}]]);
  await world.store.write('ada', (tx) => tx.insertBuild(build('1', 'more')));
  expect(await catalogue()).toEqual([['1', 1, 1, undefined]]);
  await add(world, { ...shop, version: '2', listens: {}, builds: { image: { recipe: 'Dockerfile' } } });
  expect(await catalogue()).toEqual([['1', 1, 1, { version: '2', artifacts: ['image'] }]]);
  await world.store.write('ada', (tx) => tx.insertBuild(build('2', 'image')));
  expect(await catalogue()).toEqual([['2', 1, 0, undefined]]);
});

test('a withdrawn generation is not in the inventory', async () => {
  const world = await aMesh(1, 1);
  await world.ask(`update mesh.pair_secrets set stage = 'withdrawn'`);
  expect((await counted(world)).read.pairSecrets).toEqual([]);
});

test('[D1] read again, a node of which nothing changed keeps its record, and what changed is as a new reader finds it', async () => {
  const world = await aMesh(4, 2);
  const read = async (store = world.store) => store.read((view) => view.inventory());
  const changes: readonly (readonly [sql: string, node: string])[] = [
    [`update mesh.nodes set address = 'elsewhere' where node = 'n1'`, 'n1'],
    [`update mesh.nodes set sealing_fingerprint = 'other' where node = 'n2'`, 'n2'],
    [`update mesh.node_capabilities set present = false, reason = 'gone' where node = 'n3'`, 'n3'],
    [`update mesh.nodes set capabilities_reported = false where node = 'n3'`, 'n3'],
    [`insert into mesh.carried_ports (node, protocol, port) values ('n4', 'tcp', 80)`, 'n4'],
    [`delete from mesh.assignments where node = 'n1' and module = 'm2'`, 'n1'],
    [`update mesh.pins set provider_module = 'm1' where node = 'n2'`, 'n2'],
    [`update mesh.bindings set provider_node = 'n2' where node = 'n3' and module = 'm1'`, 'n3'],
    [`update mesh.ports set port = 30000 where node = 'n4' and module = 'm1'`, 'n4'],
    [`update mesh.ports set released_at = now() where node = 'n4' and module = 'm2'`, 'n4'],
    [`update mesh.own_secrets set node_blob = 'y' where node = 'n1' and module = 'm1'`, 'n1'],
    [`update mesh.pair_secrets set stage = 'leaving' where consumer_node = 'n2' and consumer_module = 'm1'`, 'n2'],
    [`update mesh.pair_secrets set local = 'a' where consumer_node = 'n2' and consumer_module = 'm2'`, 'n2'],
  ];
  let before = await read();
  expect(recordsOf(await read())).toEqual(recordsOf(before));
  for (const [sql, node] of changes) {
    await world.ask(sql);
    const after = await read();
    const same = [...recordsOf(after)].filter(([name, record]) => recordsOf(before).get(name) === record);
    expect([sql, ...same.map(([name]) => name)]).toEqual([
      sql,
      ...['n1', 'n2', 'n3', 'n4'].filter((name) => name !== node),
    ]);
    expect(recordsOf(after)).toEqual(recordsOf(await read(world.another())));
    expect(after.modules).toBe(before.modules);
    before = after;
  }
});
