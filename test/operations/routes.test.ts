import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { partName } from '../../src/domain/words/names.ts';
import { mirrorsOf } from '../../src/domain/provisioning/mirrors.ts';
import { assignmentPlan, buckets } from '../../src/domain/provisioning/values.ts';
import { parseManifest } from '../../src/domain/manifest/parse-manifest.ts';
import { resolve } from '../../src/domain/resolution/resolve.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { listLabels, setLabel, unsetLabel } from '../../src/operations/intent/set-label.ts';
import { addModule } from '../../src/operations/module/add-module.ts';
import { forgetModule } from '../../src/operations/module/forget-module.ts';
import { setPublicDomain } from '../../src/operations/node/set-node.ts';
import { planNodes } from '../../src/operations/plan/plan-nodes.ts';
import { relayRecords } from '../../src/operations/provisioning/relay.ts';
import { why } from '../../src/operations/why/why.ts';
import { connectionOf } from '../../src/store/address.ts';
import { until } from '../support/until.ts';
import { push } from './push.ts';
import { accepted, add, hash, join, module, node, raiseWorlds, refused, type World, type Worlds } from './world.ts';

let worlds: Worlds;
let world: World;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());
beforeEach(async () => {
  world = await worlds.make();
  await join(world, 'alpha');
  await join(world, 'beta');
});

const routed = (name: string, label: string) => ({
  module: name,
  listens: { http: 80 },
  routes: [{ label, listens: 'http' }],
  resources: [{ kind: 'file', path: `/etc/${name}`, content: 'x' }],
});
const http = partName.parse('http');
const at = (where: string, what: string) => ({ node: node(where), module: module(what) });
const put = (where: string, what: string) => assign(world.store, 'ada', at(where, what));
const domain = (of: string, name?: string) => setPublicDomain(world.store, 'ada', node(of), name);
const label = (where: string, what: string, text: string) =>
  setLabel(world.store, 'ada', { ...at(where, what), listens: http, label: text });
const planned = async (name: string) => {
  const [one] = accepted(await planNodes(world.store, hash, [node(name)])).nodes;
  if (one?.kind !== 'resolvable') throw new Error(`${name} cannot be resolved`);
  return { routes: one.routes.map(({ module: its, name: of }) => `${its} ${of}`), unrouted: one.unrouted };
};
const ask = async (thing: string) => accepted(await why(world.store, hash, Date.now(), thing));
/** What the client of a node is told to contribute to the collection `route`. */
const mirrored = async (of: string): Promise<readonly unknown[]> => {
  const snapshot = await relayRecords(world.store).snapshot();
  const { mirrors } = mirrorsOf({ ...snapshot, resolution: resolve(snapshot.inventory), pending: new Map() });
  const plan = assignmentPlan.parse(JSON.parse(mirrors.get(buckets.assignments)?.get(of) ?? ''));
  return plan.contributes.map(({ item }) => item);
};

/** Lets nobody write to nodes, and everybody read, until it ends; `count`: how many wait to write. */
async function waiting(): Promise<{ count(): Promise<number>; end(): Promise<void> }> {
  const client = new pg.Client(connectionOf(world.address));
  await client.connect();
  await client.query('begin');
  await client.query('lock table mesh.nodes in share mode');
  return {
    count: async () =>
      (await world.ask(`select from pg_locks where relation = 'mesh.nodes'::regclass and not granted`)).length,
    end: async () => {
      await client.query('commit');
      await client.end();
    },
  };
}

describe('routed names', () => {
  test('[M23] composed of label and public domain, in plan, why and the mirrors; each change is an event that wakes them', async () => {
    await add(world, routed('notes', 'notes'));
    accepted(await put('alpha', 'notes'));
    const says = 'notes on alpha is routed as notes, and alpha has no public domain: no name is composed';
    expect(await planned('alpha')).toMatchObject({ routes: [], unrouted: [{ module: 'notes', says }] });
    const unnamed = await ask('alpha/notes');
    expect(unnamed.links).toContainEqual(expect.objectContaining({ of: 'route', says, holds: false }));
    expect(unnamed.next).toEqual(['mesh node set alpha public-domain=DOMAIN']);
    expect(await mirrored('alpha.notes')).toEqual([]);

    expect(accepted(await domain('alpha', 'a.example'))).toEqual({ node: 'alpha', publicDomain: 'a.example' });
    expect(await planned('alpha')).toMatchObject({ routes: ['notes notes.a.example'], unrouted: [] });
    accepted(await label('alpha', 'notes', 'memo'));
    expect(await planned('alpha')).toMatchObject({ routes: ['notes memo.a.example'] });
    expect(await mirrored('alpha.notes')).toMatchObject([
      { name: 'memo.a.example', host: '127.0.0.1', module: 'notes' },
    ]);
    expect(await listLabels(world.store, node('alpha'))).toMatchObject([{ module: 'notes', label: 'memo' }]);

    accepted(await unsetLabel(world.store, 'ada', { ...at('alpha', 'notes'), listens: http }));
    expect(await planned('alpha')).toMatchObject({ routes: ['notes notes.a.example'] });
    accepted(await domain('alpha'));
    expect(await planned('alpha')).toMatchObject({ routes: [] });
    expect(
      await world.ask(
        `select kind, about, detail, relayed_at from mesh.events where kind ~ '^(node|label)-(un)?set$' order by id`,
      ),
    ).toEqual([
      { kind: 'node-set', about: 'alpha', detail: { publicDomain: 'a.example' }, relayed_at: null },
      { kind: 'label-set', about: 'alpha/notes', detail: { listens: 'http', label: 'memo' }, relayed_at: null },
      { kind: 'label-unset', about: 'alpha/notes', detail: { listens: 'http' }, relayed_at: null },
      { kind: 'node-unset', about: 'alpha', detail: {}, relayed_at: null },
    ]);
  });

  test('[M23] a label is for a route that has one, of a node and a module that are there', async () => {
    await add(world, { ...routed('old', ''), routes: [{ name: 'old.example.org', listens: 'http' }] });
    expect(refused(await label('alpha', 'old', 'new')).kind).toBe('unknown-route');
    expect(refused(await label('gamma', 'old', 'new')).kind).toBe('unknown-node');
    expect(refused(await label('alpha', 'none', 'new')).kind).toBe('unknown-module');
    expect(refused(await domain('gamma', 'a.example')).kind).toBe('unknown-node');
    const none = await unsetLabel(world.store, 'ada', { ...at('alpha', 'old'), listens: http });
    expect(refused(none).kind).toBe('unknown-route');
  });

  test('[M26] a second module at a name, in any letter case, is refused by name wherever it would come to it, and nothing changes', async () => {
    await add(world, routed('notes', 'notes'));
    await add(world, routed('wiki', 'Notes'));
    await add(world, routed('memo', 'memo'));
    accepted(await domain('alpha', 'x.example'));
    accepted(await put('alpha', 'notes'));
    accepted(await put('alpha', 'memo'));
    const before = await world.ask('select count(*) from mesh.events');
    const held = (found: unknown, name: string, module: string, holder: string) =>
      expect(refused(found)).toMatchObject({ kind: 'route-held', facts: { name, module, holder } });

    held(await put('alpha', 'wiki'), 'Notes.x.example', 'wiki', 'alpha/notes');
    held(await label('alpha', 'memo', 'NOTES'), 'NOTES.x.example', 'memo', 'alpha/notes');
    const renamed = accepted(parseManifest({ version: '2', ...routed('memo', 'noteS') }, 'module.yaml'));
    const added = await addModule(world.store, 'ada', { manifest: renamed, files: new Map(), digest: 'sha256:2' });
    held(added, 'noteS.x.example', 'memo', 'alpha/notes');
    expect(await world.ask('select count(*) from mesh.events')).toEqual(before);
    expect(await world.ask('select node, module from mesh.assignments order by module')).toEqual([
      { node: 'alpha', module: 'memo' },
      { node: 'alpha', module: 'notes' },
    ]);

    accepted(await put('beta', 'wiki'));
    held(await domain('beta', 'X.EXAMPLE'), 'Notes.X.EXAMPLE', 'wiki', 'alpha/notes');
    expect((await world.ask(`select public_domain from mesh.nodes where node = 'beta'`))[0]).toEqual({
      public_domain: null,
    });
    accepted(await label('beta', 'wiki', 'wiki'));
    accepted(await domain('beta', 'X.EXAMPLE'));
    // The manifest's label would come back, and its name is held.
    held(
      await unsetLabel(world.store, 'ada', { ...at('beta', 'wiki'), listens: http }),
      'Notes.X.EXAMPLE',
      'wiki',
      'alpha/notes',
    );
  });

  test('[M26] of two that come to one name at the same moment, one is refused', async () => {
    await add(world, routed('notes', 'notes'));
    await add(world, routed('wiki', 'notes'));
    accepted(await put('alpha', 'notes'));
    accepted(await put('beta', 'wiki'));
    const before = await waiting();
    const asked = Promise.all([
      domain('alpha', 'x.example'),
      setPublicDomain(world.another(), 'bob', node('beta'), 'x.example'),
    ]);
    // Each has read that the name is free, and neither has written.
    await until(async () => (await before.count()) === 2, { withinMs: 10_000, what: 'both to be about to write' });
    await before.end();
    const both = await asked;
    expect(both.map((one) => ('kind' in one ? one.kind : 'set')).toSorted()).toEqual(['route-held', 'set']);
  });

  test('[U5] why a name: one chain of module, label, domain, port and the item in the collection', async () => {
    await add(world, routed('notes', 'notes'));
    accepted(await put('alpha', 'notes'));
    accepted(await domain('alpha', 'a.example'));
    accepted(await label('alpha', 'notes', 'memo'));
    await push(world, 'alpha');
    const { kind, links, next } = await ask('MEMO.a.example');
    expect({ kind, next, of: links.map(({ of, holds }) => `${of} ${holds ? 'so' : 'not'}`) }).toEqual({
      kind: 'route',
      next: [],
      of: ['intent so', 'route so', 'route so', 'resolution so', 'port so', 'collection so', 'sent so', 'report so'],
    });
    const said = links.map(({ says }) => says).join('\n');
    expect(said).toMatch(/its label is memo, set instead of notes, by ada at \d{4}-/);
    expect(said).toMatch(/the public domain of alpha is a\.example, by ada at \d{4}-/);
    expect(said).toMatch(
      /the collection route has memo\.a\.example at 127\.0\.0\.1:2\d{4}, contributed by notes on alpha/,
    );
    expect(refused(await why(world.store, hash, Date.now(), 'notes.a.example')).kind).toBe('unknown-thing');
  });

  test('[M16] forgetting a module names its labels, which go with it and with the node', async () => {
    await add(world, routed('notes', 'notes'));
    accepted(await label('alpha', 'notes', 'memo'));
    accepted(await label('beta', 'notes', 'memo'));
    const listed = await forgetModule(world.store, hash, module('notes'));
    expect(listed.facts).toMatchObject({ labels: ['alpha/notes http memo', 'beta/notes http memo'] });
    await world.store.write('ada', (tx) => tx.deleteNode(node('alpha')));
    expect(await listLabels(world.store)).toMatchObject([{ node: 'beta', label: 'memo' }]);
    await world.ask(`delete from mesh.modules where module = 'notes'`);
    expect(await listLabels(world.store)).toEqual([]);
  });
});
