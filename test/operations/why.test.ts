import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { provisionName } from '../../src/domain/words/names.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { pin } from '../../src/operations/intent/pin.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { recordReport } from '../../src/operations/report/record-report.ts';
import { why } from '../../src/operations/why/why.ts';
import { answer, push } from './push.ts';
import {
  accepted,
  add,
  aReport,
  hash,
  join,
  module,
  node,
  raiseWorlds,
  refused,
  type World,
  type Worlds,
} from './world.ts';

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
const put = async (where: string, what: string) => accepted(await assign(world.store, 'ada', at(where, what)));
const ask = (thing: string) => why(world.store, hash, Date.now(), thing);
const chain = async (thing: string) => {
  const { links, next, kind } = accepted(await ask(thing));
  return {
    kind,
    next,
    links: links.map(({ of, holds }) => `${of} ${holds ? 'so' : 'not'}`),
    says: links.map(({ says }) => says).join('\n'),
  };
};

const web = { module: 'web', listens: { http: 80 }, resources: [{ kind: 'file', path: '/etc/web', content: 'x' }] };
const postgres = {
  module: 'postgres',
  provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
  listens: { sql: 5432 },
};
const notes = { module: 'notes', requires: ['postgres-database'], secrets: { 'postgres-database': '/etc/notes/db' } };

test('[D21] the chain of a module on a node breaks where it is broken, and names the command for just that', async () => {
  await join(world, 'alpha');
  await add(world, web);
  expect(await chain('web')).toMatchObject({ kind: 'module', links: ['intent not'], next: ['mesh assign NODE web'] });
  expect(await chain('alpha/web')).toMatchObject({ links: ['intent not'], next: ['mesh assign alpha web'] });
  await put('alpha', 'web');
  expect(await chain('alpha/web')).toMatchObject({
    kind: 'module on a node',
    links: ['intent so', 'resolution so', 'port so', 'sent not'],
    next: ['mesh plan alpha', 'mesh push alpha'],
    says: expect.stringMatching(/web is assigned to alpha, by ada at \d{4}-/),
  });
  await push(world, 'alpha', 'stays silent');
  expect(await chain('alpha/web')).toMatchObject({
    links: ['intent so', 'resolution so', 'port so', 'sent so', 'report not'],
    next: ['mesh status --watch'],
  });
  await answer(world, 'alpha', 'answers');
  expect(await chain('alpha/web')).toMatchObject({
    links: ['intent so', 'resolution so', 'port so', 'sent so', 'report so'],
    next: [],
  });
  expect(await chain('alpha')).toMatchObject({
    kind: 'node',
    links: ['intent so', 'resolution so', 'sent so', 'report so'],
    next: [],
  });
  await add(world, { ...web, version: '2.0.0', resources: [{ kind: 'file', path: '/etc/web', content: 'y' }] });
  expect(await chain('alpha/web')).toMatchObject({ next: ['mesh plan alpha --full', 'mesh push alpha'] });
});

test('[D18] a failed resource is said of the module that has it, and of no other; stuck with since when', async () => {
  await join(world, 'alpha');
  await add(world, web);
  await add(world, { module: 'other', resources: [{ kind: 'file', path: '/etc/other', content: 'x' }] });
  await put('alpha', 'web');
  await put('alpha', 'other');
  await push(world, 'alpha', 'stays silent');
  const [sent] = await world.store.read((view) => view.sentRows());
  for (const sequence of [2, 3, 4])
    await recordReport(
      world.store,
      aReport('alpha', {
        sequence,
        outcome: 'failed',
        digest: sent?.digest,
        number: sent?.number,
        declared: 2,
        applied: 1,
        failures: [{ resource: 'web/file/etc/web', error: 'the disk is full' }],
      }),
      Date.now(),
    );
  const broken = await chain('alpha/web');
  expect(broken.links.at(-1)).toBe('report not');
  expect(broken.says).toMatch(/web\/file\/etc\/web failed, stuck since \d{4}-.*: the disk is full/);
  expect(broken.next).toEqual(['mesh status', 'mesh events --about alpha']);
  expect((await chain('alpha/other')).links.at(-1)).toBe('report so');
});

test('[M6] a binding says whose choice it was, and how far its credential is, from either name of it', async () => {
  for (const name of ['alpha', 'beta']) await join(world, name);
  await add(world, postgres);
  await add(world, notes);
  await put('alpha', 'postgres');
  await put('beta', 'notes');
  const path = 'alpha/postgres-database/beta/notes';
  expect(await chain('beta/notes/postgres-database')).toMatchObject({
    kind: 'binding',
    links: expect.arrayContaining(['binding so', 'credential not']),
    next: ['mesh push alpha beta'],
  });
  expect(refused(await ask(path))).toMatchObject({ kind: 'unknown-thing' });
  await world.ask(`insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module,
      generation, stage, origin, consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint)
    values ('postgres-database', 'alpha', 'postgres', 'beta', 'notes', 1, 'current', 'made', 'c', 'k', 'p', 'k')`);
  expect(await chain(path)).toMatchObject({
    kind: 'credential',
    links: expect.arrayContaining(['credential so', 'granter not']),
  });
  const entry = {
    node: 'beta',
    module: 'notes',
    generation: 1,
    login: 'x',
    state: 'granted',
    seen: 2,
    sessionsEnded: 0,
  };
  const status = { schema: 'mesh.granter-status', version: 1, provision: 'postgres-database', entries: [entry] };
  await world.ask(
    `insert into mesh.granter_reports (node, module, provision, status) values ('alpha', 'postgres', 'postgres-database', '${JSON.stringify(status)}')`,
  );
  const seen = await chain(path);
  expect(seen.links).toEqual(expect.arrayContaining(['credential so', 'granter so']));
  expect(seen.says).toContain('seen to log in 2 times');
  const wanted = {
    node: node('beta'),
    provision: provisionName.parse('postgres-database'),
    provider: { node: node('alpha') },
  };
  accepted(await pin(world.store, 'ada', wanted));
  expect((await chain('beta/notes/postgres-database')).says).toContain('by a pin');
});

test('[M17] a port is somebody’s and says why; one that is leaving says who has not confirmed; one that is nobody’s says so', async () => {
  await join(world, 'alpha');
  await add(world, web);
  await put('alpha', 'web');
  await push(world, 'alpha');
  expect(await chain('alpha:20000')).toMatchObject({
    kind: 'port',
    links: ['intent so', 'port so', 'sent so', 'report so'],
  });
  expect(await chain('alpha:20000/udp')).toMatchObject({ says: '20000/udp of alpha is nobody’s' });
  accepted(await unassign(world.store, 'ada', at('alpha', 'web')));
  await push(world, 'alpha', 'stays silent');
  expect(await chain('alpha:20000')).toMatchObject({
    says: expect.stringContaining('alpha has not confirmed that it runs without it'),
    next: ['mesh push alpha'],
  });
});

test('[M3] a node that cannot be resolved is told why, with the commands of the refusal', async () => {
  for (const name of ['alpha', 'beta', 'gamma']) await join(world, name);
  await add(world, postgres);
  await add(world, notes);
  await put('alpha', 'postgres');
  await put('beta', 'notes');
  await add(world, { ...postgres, version: '2.0.0', provides: [] });
  expect(await chain('beta')).toMatchObject({
    links: expect.arrayContaining(['resolution not']),
    next: ['mesh assign alpha postgres'],
  });
  for (const thing of ['nothing', 'alpha/', 'alpha/nothing', 'alpha:x', '', 'a/b/c/d/e/f'])
    expect(refused(await ask(thing))).toMatchObject({ kind: 'unknown-thing' });
});
