/** Scenarios told from outside, as far as intents and records go; the steps' numbers are the cases'. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { z } from 'zod';
import { declarationRecords } from '../../src/operations/act/declaration-records.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { listHoldings } from '../../src/operations/intent/list-holdings.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { planNodes } from '../../src/operations/plan/plan-nodes.ts';
import { openStore } from '../../src/store/store.ts';
import { push, type Answers } from './push.ts';
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

/** An app that claims a host name in the whole mesh and a port of its machine. */
const app = (name: string) => ({
  module: name,
  claims: [{ name: 'shop-example-test', scope: 'mesh' }],
  listens: { http: { port: 8080, fixed: true } },
  resources: [{ kind: 'file', path: `/opt/${name}`, content: name }],
});

const pushed = (name: string, answers?: Answers) => push(world, name, answers);

const ownersAreAlive = async (): Promise<void> => {
  expect(
    await world.ask(`select node, module from mesh.claims
       union select node, module from mesh.ports where released_at is null
       except select node, module from mesh.assignments`),
  ).toEqual([]);
};

test('[C31] a claim has a living owner, a refusal names it, and a port is handed on when its machine has answered', async () => {
  const expected = z
    .object({ always: z.array(z.string()) })
    .parse(JSON.parse(await readFile('test/cases/C31-ghost-claim-after-removal/expected.json', 'utf8')));
  expect(expected.always).toEqual(['every claim has a living owner', 'a refusal names the owner']);
  await join(world, 'alpha');
  await join(world, 'beta');
  for (const name of ['web', 'shop', 'other', 'third']) await add(world, app(name));

  // 1 to 4: deploying fails after the intent was recorded; what is listed agrees with what is claimed, and again is accepted.
  accepted(await put('alpha', 'web'));
  const listed = await listHoldings(world.store);
  expect(listed.claims).toMatchObject([{ name: 'shop-example-test', place: '*', node: 'alpha', module: 'web' }]);
  accepted(await put('alpha', 'web'));
  await pushed('alpha');
  await ownersAreAlive();

  // 5 and 6: under another name, the first one removed.
  expect(refused(await put('alpha', 'shop'))).toMatchObject({ facts: { holder: expect.stringContaining('web') } });
  accepted(await take('alpha', 'web'));
  await pushed('alpha');
  accepted(await put('alpha', 'shop'));
  await pushed('alpha');
  await ownersAreAlive();

  // 7 and 8: until the machine has answered, the port is the one's that is being removed.
  accepted(await take('alpha', 'shop'));
  await ownersAreAlive();
  expect(refused(await put('alpha', 'other'))).toMatchObject({
    kind: 'port-held',
    what: expect.stringContaining('shop, being removed'),
  });
  await pushed('alpha');
  expect(accepted(await put('alpha', 'other')).ports).toMatchObject([{ port: 8080 }]);
  await pushed('alpha');

  // 9 and 10: its node does not answer. The name is free for another node at once; the port is not, and the list says so.
  accepted(await take('alpha', 'other'));
  await pushed('alpha', 'stays silent');
  expect(await listHoldings(world.store)).toMatchObject({
    claims: [],
    ports: [{ node: 'alpha', port: 8080, module: 'other', state: 'leaving' }],
  });
  expect(refused(await put('alpha', 'third'))).toMatchObject({ kind: 'port-held', facts: { holder: 'other' } });
  accepted(await put('beta', 'third'));
  await ownersAreAlive();
});

test('[C31] [M18] a module that comes back before its machine answered has its port again', async () => {
  await join(world, 'alpha');
  await add(world, {
    module: 'notes',
    listens: { http: 8080 },
    resources: [{ kind: 'file', path: '/opt/notes', content: 'x' }],
  });
  await add(world, { module: 'wiki', listens: { http: 8080 } });
  accepted(await put('alpha', 'notes'));
  await pushed('alpha');
  accepted(await take('alpha', 'notes'));
  expect(accepted(await put('alpha', 'wiki')).ports).toMatchObject([{ port: 20_001 }]);
  expect(accepted(await put('alpha', 'notes')).ports).toMatchObject([{ module: 'notes', port: 20_000 }]);
  expect(await world.ask(`select module, port, released_at from mesh.ports order by port`)).toEqual([
    { module: 'notes', port: 20_000, released_at: null },
    { module: 'wiki', port: 20_001, released_at: null },
  ]);
});

test('[C54] an assignment cut off after any of its pieces leaves none; the second makes each once; removing leaves none', async () => {
  await join(world, 'alpha');
  await add(world, {
    module: 'postgres',
    provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
    listens: { sql: 5432 },
  });
  await add(world, { ...app('web'), requires: ['postgres-database'] });
  accepted(await put('alpha', 'postgres'));
  const pieces = () =>
    world.ask(`select 'assignment' as piece from mesh.assignments where module = 'web' union all select 'port' from mesh.ports where module = 'web'
       union all select 'claim' from mesh.claims where module = 'web' union all select 'binding' from mesh.bindings where module = 'web'
       union all select 'event' from mesh.events where about = 'alpha/web' order by 1`);
  const whole = ['assignment', 'binding', 'claim', 'event', 'port'].map((piece) => ({ piece }));

  for (const cut of ['insertAssignment', 'insertPorts', 'insertClaims', 'putBindings', 'event'] as const) {
    const store = openStore(world.address);
    const stops: typeof store = {
      ...store,
      write: (person, change, isolation) =>
        store.write(
          person,
          async (tx) => {
            const broken = { ...tx };
            const done: () => Promise<never> = async () => {
              throw new Error(`the worker is gone after ${cut}`);
            };
            // The piece itself is written, and then nothing more happens.
            const piece: (...given: never[]) => Promise<unknown> = tx[cut];
            Object.assign(broken, { [cut]: async (...given: never[]) => piece(...given).then(done) });
            return change(broken);
          },
          isolation,
        ),
    };
    await expect(assign(stops, 'ada', at('alpha', 'web'))).rejects.toThrow(`the worker is gone after ${cut}`);
    await store.close();
    expect(await pieces()).toEqual([]);
  }
  accepted(await put('alpha', 'web'));
  accepted(await put('alpha', 'web'));
  expect(await pieces()).toEqual(whole);
  accepted(await take('alpha', 'web'));
  expect((await pieces()).filter(({ piece }) => piece !== 'event')).toEqual([]);
});

test('[C54] a part that was applied is not recorded as the whole, nor the earlier declaration as replaced', async () => {
  await join(world, 'alpha');
  await add(world, app('web'));
  accepted(await put('alpha', 'web'));
  await pushed('alpha');
  const good = await world.ask(`select digest, number from mesh.sent_declarations`);
  await add(world, { ...app('web'), version: '2.0.0', resources: [{ kind: 'file', path: '/opt/two', content: 'y' }] });
  // Composed, published, and the worker gone before the record: what is recorded is still what was.
  await declarationRecords(world.store).numbered();
  expect(await world.ask(`select digest, number from mesh.sent_declarations`)).toEqual(good);
  const [plan] = accepted(await planNodes(world.store, hash)).nodes;
  expect(plan?.standing).toMatchObject({ told: 'behind', well: false });
});
