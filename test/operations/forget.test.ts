/** What is taken away, and what must be said before it is: forgetting as a listing, removals that name all, ports handed on. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { nodeName, partName, provisionName } from '../../src/domain/words/names.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { listHoldings } from '../../src/operations/intent/list-holdings.ts';
import { pin } from '../../src/operations/intent/pin.ts';
import { setSetting } from '../../src/operations/intent/set-setting.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { forgetModule } from '../../src/operations/module/forget-module.ts';
import { listRemoval } from '../../src/operations/node/remove-node.ts';
import { planNodes } from '../../src/operations/plan/plan-nodes.ts';
import { answer, push } from './push.ts';
import { accepted, add, hash, join, module, node, raiseWorlds, refused, type World, type Worlds } from './world.ts';

let worlds: Worlds;
let world: World;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());
beforeEach(async () => {
  world = await worlds.make();
});

const at = (where: string, what: string) => ({ node: node(where), module: module(what) });
const put = (where: string, what: string) => assign(world.store, 'ada', at(where, what));
const take = (where: string, what: string) => unassign(world.store, 'ada', at(where, what));
const forget = async (what: string) => forgetModule(world.store, hash, module(what));

const shopdb = {
  module: 'shopdb',
  provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
  listens: { sql: 5432 },
  holds: { root: '/etc/shopdb/root' },
  settings: { size: { default: 1 } },
  claims: [{ name: 'shop-store', scope: 'mesh' }],
  resources: [{ kind: 'directory', path: '/var/lib/shopdb', unknown: 'program' }],
};
const consumer = (name: string, part: object = {}) => ({
  module: name,
  requires: ['postgres-database'],
  secrets: { 'postgres-database': `/etc/${name}/db` },
  ...part,
});

/** A provider, its consumers alpha and beta, and web, which uses alpha. */
async function shop(): Promise<void> {
  for (const name of ['n1', 'n2']) await join(world, name);
  await add(world, shopdb);
  await add(world, consumer('alpha', { provides: [{ name: 'alpha-api', scope: 'mesh' }] }));
  await add(world, consumer('beta'));
  await add(world, { module: 'web', requires: ['alpha-api'] });
  for (const [where, what] of [
    ['n1', 'shopdb'],
    ['n2', 'alpha'],
    ['n2', 'beta'],
    ['n1', 'web'],
  ] as const)
    accepted(await put(where, what));
  for (const name of ['alpha', 'beta'])
    await world.ask(`insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module,
        generation, stage, origin, consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint)
      select 'postgres-database', 'n1', 'shopdb', 'n2', '${name}', g, case g when 1 then 'withdrawn' else 'current' end, 'made', 'c', 'k', 'p', 'k'
        from generate_series(1, 2) as g`);
  await world.ask(
    `insert into mesh.own_secrets (node, module, name, origin, node_blob, node_fingerprint) values ('n1', 'shopdb', 'root', 'made', 'x', 'k')`,
  );
  accepted(await setSetting(world.store, 'ada', { ...at('n1', 'shopdb'), name: partName.parse('size'), value: 3 }));
  const wanted = {
    node: node('n2'),
    provision: provisionName.parse('postgres-database'),
    provider: at('n1', 'shopdb'),
  };
  accepted(await pin(world.store, 'ada', wanted));
}

const tables = [
  'assignments',
  'settings',
  'own_secrets',
  'pair_secrets',
  'ports',
  'claims',
  'bindings',
  'pins',
  'modules',
  'events',
  'acts',
];
/** Every row of every table that could lose one. */
const everything = async () =>
  Promise.all(tables.map((table) => world.ask(`select * from mesh.${table} order by 1, 2, 3`)));

describe('[M16] forgetting a module', () => {
  test('[M16] names all that it holds, each thing once, refuses, and changes nothing', async () => {
    await shop();
    const before = await everything();
    const refusal = refused(await forget('shopdb'));
    expect(refusal).toMatchObject({
      kind: 'forget-destroys',
      why: expect.stringContaining('--and-what-it-holds'),
      next: ['mesh unassign n1 shopdb'],
      facts: {
        module: 'shopdb',
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        assignments: ['n1/shopdb'],
        settings: ['n1/shopdb size'],
        ownSecrets: ['n1/shopdb/root'],
        pairCredentials: ['n1/postgres-database/n2/alpha', 'n1/postgres-database/n2/beta'],
        ports: ['20000/tcp of n1 (sql)'],
        claims: ['shop-store at *'],
        bindings: ['n2/alpha postgres-database from n1/shopdb', 'n2/beta postgres-database from n1/shopdb'],
        pins: ['n2 postgres-database at n1/shopdb'],
        builds: [],
      },
    });
    const facts = Object.values(refusal.facts ?? {})
      .filter((value) => typeof value === 'object')
      .flat();
    expect(facts.filter((each) => !refusal.what.includes(each))).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test('[M16] a consumer’s own end is listed too, where it came along, and ports that its machine may still use', async () => {
    await shop();
    expect(refused(await forget('alpha')).facts).toMatchObject({
      pairCredentials: ['n1/postgres-database/n2/alpha'],
      bindings: ['n1/web alpha-api from n2/alpha', 'n2/alpha postgres-database from n1/shopdb'],
    });
    await add(world, { module: 'shell', provides: ['shell'], listens: { tty: 7000 } });
    await add(world, { module: 'tools', requires: ['shell'], resources: [{ kind: 'file', path: '/a', content: '' }] });
    accepted(await put('n2', 'tools'));
    expect(refused(await forget('shell'))).toMatchObject({
      facts: { assignments: ['n2/shell (required there)'], ports: ['20000/tcp of n2 (tty)'] },
      next: ['mesh module show shell'],
    });
    await world.ask(`insert into mesh.sent_declarations (node, digest, number, stream_sequence, resources)
      values ('n2', 'sha256:0', 1, 1, '{"shell/file/a": "sha256:0"}')`);
    accepted(await take('n2', 'tools'));
    expect(refused(await forget('shell')).facts).toMatchObject({ assignments: [], ports: ['20000/tcp of n2 (tty)'] });
  });

  test('[M16] the digest is of exactly what is listed: the same until any of it changes', async () => {
    await shop();
    const digest = async () => refused(await forget('shopdb')).facts?.['digest'];
    const first = await digest();
    expect(await digest()).toBe(first);
    accepted(await take('n2', 'beta'));
    expect(await digest()).not.toBe(first);
  });

  test('[M16] one that holds nothing is still only named, and one that is not there is not found', async () => {
    await add(world, { module: 'bare' });
    expect(refused(await forget('bare'))).toMatchObject({
      kind: 'forget-destroys',
      what: expect.stringContaining('nothing else'),
    });
    expect(refused(await forget('nothing'))).toMatchObject({ kind: 'unknown-module' });
    expect(await world.ask(`select module from mesh.modules`)).toEqual([{ module: 'bare' }]);
  });
});

test('[C56] a removal takes no more than was said: what uses the provider is named, nothing goes, and what stays is untouched', async () => {
  await shop();
  // 1: alpha, beta and web are named, and nothing changed.
  const before = await everything();
  const inUse = refused(await take('n1', 'shopdb'));
  expect(inUse.kind).toBe('provider-in-use');
  for (const name of ['alpha', 'beta', 'web']) expect(inUse.what).toContain(name);
  expect(await everything()).toEqual(before);
  // 2: the listing of everything that would go, ending as a refusal does.
  expect(refused(await forget('shopdb')).kind).toBe('forget-destroys');
  // 3: a manifest without it takes nothing: its consumers are said to be bound to what is no longer declared.
  await add(world, { ...shopdb, version: '2.0.0', provides: [] });
  const [, n2] = accepted(await planNodes(world.store, hash)).nodes;
  expect(n2).toMatchObject({ node: 'n2', kind: 'unresolvable' });
  const kinds = n2?.kind === 'unresolvable' ? n2.refusals.map(({ kind }) => kind) : [];
  expect(new Set(kinds)).toEqual(new Set(['pin-unanswered']));
  const secrets = () => world.ask(`select consumer_module, generation, stage from mesh.pair_secrets order by 1, 2`);
  expect(await secrets()).toHaveLength(4);
  await add(world, { ...shopdb, version: '3.0.0' });
  // 4: the node is not removed, and where its data lies is said.
  const removal = refused(await listRemoval(world.store, nodeName.parse('n1')));
  expect(removal.kind).toBe('node-in-use');
  expect(removal.what).toContain('data lies in /var/lib/shopdb');
  // 5: beta goes, and alpha has all it had.
  const alpha = () => world.ask(`select * from mesh.bindings where module = 'alpha'`);
  const had = await alpha();
  expect(accepted(await take('n2', 'beta')).left).toEqual(['beta']);
  expect(await alpha()).toEqual(had);
  expect(await secrets()).toHaveLength(4);
});

describe('[C32] a port is not handed on before its machine has confirmed', () => {
  const file = (name: string) => [{ kind: 'file', path: `/opt/${name}`, content: name }];
  const fixed = (name: string) => ({
    module: name,
    listens: { http: { port: 30_943, fixed: true } },
    resources: file(name),
  });
  const open = (name: string) => ({ module: name, listens: { http: 80 }, resources: file(name) });
  const heldBy = async () =>
    (await listHoldings(world.store)).ports.map(({ port, module: by, state }) => ({ port, by, state }));

  beforeEach(async () => {
    await join(world, 'n1');
    for (const name of ['a', 'c']) await add(world, fixed(name));
    await add(world, open('b'));
    accepted(await put('n1', 'a'));
    await push(world, 'n1');
  });

  test('[C32] [M18] b gets another, c is told who holds it and why, and has it once n1 said that a is gone', async () => {
    const expected = z
      .object({ after: z.record(z.string(), z.string()) })
      .parse(JSON.parse(await readFile('test/cases/C32-port-handed-on-too-early/expected.json', 'utf8')));
    expect(Object.keys(expected.after)).toEqual(['8', '9', '24', '25']);
    accepted(await take('n1', 'a'));
    await push(world, 'n1', 'answers in part');
    expect(accepted(await put('n1', 'b')).ports).toMatchObject([{ port: 20_000 }]);
    const waits = refused(await put('n1', 'c'));
    expect(waits).toMatchObject({
      kind: 'port-held',
      what: expect.stringMatching(/30943 of n1, which a holds.*a, being removed/),
      why: expect.stringContaining('n1 has not answered yet'),
      facts: { port: 30_943, holder: 'a' },
    });
    expect(await heldBy()).toContainEqual({ port: 30_943, by: 'a', state: 'leaving' });
    await push(world, 'n1', 'answers in part');
    expect(refused(await put('n1', 'c')).kind).toBe('port-held');
    await answer(world, 'n1', 'answers');
    expect((await heldBy()).filter(({ port }) => port === 30_943)).toEqual([]);
    expect(accepted(await put('n1', 'c')).ports).toMatchObject([{ port: 30_943 }]);
  });

  test('[C32] a node that stays silent keeps it for ever: no timer hands it on, and the state says so', async () => {
    accepted(await take('n1', 'a'));
    await push(world, 'n1', 'stays silent');
    await world.ask(`update mesh.ports set released_at = now() - interval '10 years' where released_at is not null`);
    await world.ask(`update mesh.reports set received_at = now() - interval '10 years'`);
    expect(refused(await put('n1', 'c'))).toMatchObject({ kind: 'port-held', facts: { holder: 'a' } });
    expect(await heldBy()).toContainEqual({ port: 30_943, by: 'a', state: 'leaving' });
  });

  test('[C32] an answer about an older declaration, or one before a push, is no confirmation', async () => {
    accepted(await take('n1', 'a'));
    await answer(world, 'n1', 'answers');
    expect(refused(await put('n1', 'c')).kind).toBe('port-held');
    await push(world, 'n1');
    accepted(await put('n1', 'c'));
  });

  test('[C32] a module that comes with the same mapping in another form is told the same', async () => {
    accepted(await take('n1', 'a'));
    await add(world, { module: 'd', listens: { web: { port: 30_943, protocol: 'both', fixed: true } } });
    expect(refused(await put('n1', 'd'))).toMatchObject({ kind: 'port-held', facts: { holder: 'a' } });
  });
});
