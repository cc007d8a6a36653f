/**
 * Two who want something at the same moment, over two connections: each has read the world before either has written, so the
 * second to write is always in the first one's way. Asserted is what each is told, and what is left (M22).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { partName, provisionName } from '../../src/domain/words/names.ts';
import { parseManifest } from '../../src/domain/manifest/parse-manifest.ts';
import { addModule } from '../../src/operations/module/add-module.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { pin } from '../../src/operations/intent/pin.ts';
import { setSetting } from '../../src/operations/intent/set-setting.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import type { Store } from '../../src/store/store.ts';
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
import { recordReport } from '../../src/operations/report/record-report.ts';

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
const postgresDatabase = provisionName.parse('postgres-database');
const postgres = {
  module: 'postgres',
  provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
  listens: { sql: 5432 },
};

/** Runs all of them, each on a store of its own, and lets none go on before all have read. `attempts`: how often one was run. */
async function atOnce<T>(
  ...changes: readonly ((store: Store) => Promise<T>)[]
): Promise<{ readonly answers: readonly T[]; readonly attempts: readonly number[] }> {
  let waiting = changes.length;
  let open = (): void => undefined;
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  const attempts = changes.map(() => 0);
  const answers = await Promise.all(
    changes.map((change, index) => {
      const store = world.another();
      return change({
        ...store,
        write: (person, work, isolation) =>
          store.write(
            person,
            async (tx) => {
              attempts[index] = (attempts[index] ?? 0) + 1;
              if (attempts[index] > 1) return work(tx);
              const inventory = async () => {
                const read = await tx.inventory();
                waiting -= 1;
                if (waiting === 0) open();
                await all;
                return read;
              };
              return work({ ...tx, inventory });
            },
            isolation,
          ),
      });
    }),
  );
  return { answers, attempts };
}
const put = (where: string, what: string) => (store: Store) => assign(store, 'ada', at(where, what));
const take = (where: string, what: string) => (store: Store) => unassign(store, 'ada', at(where, what));
const again = (attempts: readonly number[]): number => attempts.reduce((sum, each) => sum + each - 1, 0);

/** What the rules hold whatever was raced: one row a port and a claim, and nothing that belongs to a module that is not there. */
async function expectSound(): Promise<void> {
  expect(
    await world.ask(`select node, protocol, port from mesh.ports group by 1, 2, 3 having count(*) > 1
      union all select b.node, b.module, 0 from mesh.bindings b
        where not exists (select from mesh.assignments a where (a.node, a.module) = (b.provider_node, b.provider_module))
           or not exists (select from mesh.assignments a where (a.node, a.module) = (b.node, b.module))`),
  ).toEqual([]);
}

describe('[M22] two at once', () => {
  test('[M22] the same assignment: the other’s answer is the answer, and it is made once', async () => {
    await join(world, 'alpha');
    await add(world, postgres);
    const { answers, attempts } = await atOnce(put('alpha', 'postgres'), put('alpha', 'postgres'));
    expect(again(attempts)).toBeGreaterThan(0);
    const [one, other] = answers.map(accepted);
    expect(new Set([one?.change, other?.change])).toEqual(new Set(['assigned', 'same']));
    expect(one?.ports).toEqual(other?.ports);
    expect(await world.ask(`select kind from mesh.events where kind = 'assigned'`)).toHaveLength(1);
    await expectSound();
  });

  test('[M22] [M17] another module took the number: the next one is picked', async () => {
    await join(world, 'alpha');
    for (const name of ['one', 'two']) await add(world, { module: name, listens: { http: 80 } });
    const { answers, attempts } = await atOnce(put('alpha', 'one'), put('alpha', 'two'));
    expect(again(attempts)).toBeGreaterThan(0);
    expect(
      answers.flatMap((answer) => accepted(answer).ports.map(({ port }) => port)).toSorted((a, b) => a - b),
    ).toEqual([20_000, 20_001]);
    await expectSound();
  });

  test('[M22] [M17] the last number: one gets it, the other is told who holds how many', async () => {
    await join(world, 'alpha');
    for (const name of ['crowd', 'one', 'two']) await add(world, { module: name, listens: { http: 80 } });
    await world.ask(
      `insert into mesh.ports (node, module, listens, protocol, port, fixed)
       select 'alpha', 'crowd', 'p' || n, 'tcp', n, false from generate_series(20000, 29998) as n`,
    );
    await world.ask(`insert into mesh.assignments (node, module) values ('alpha', 'crowd')`);
    await world.ask(`update mesh.module_versions set manifest = jsonb_set(manifest, '{listens}',
        (select jsonb_agg(jsonb_build_object('name', 'p' || n, 'port', 80, 'protocol', 'tcp', 'fixed', false))
           from generate_series(20000, 29998) as n)) where module = 'crowd'`);
    const { answers, attempts } = await atOnce(put('alpha', 'one'), put('alpha', 'two'));
    expect(again(attempts)).toBeGreaterThan(0);
    const won = answers.filter((answer) => !isRefusal(answer)).map(accepted);
    const lost = answers.filter(isRefusal);
    expect(won).toMatchObject([{ ports: [{ port: 29_999 }] }]);
    expect(lost).toMatchObject([
      { kind: 'ports-exhausted', facts: { holders: ['crowd 9999', `${won[0]?.module} 1`] } },
    ]);
    await expectSound();
  });

  test('[M22] [M19] a fixed port, over both protocols: the one that lost is told the holder and leaves nothing', async () => {
    await join(world, 'alpha');
    await add(world, { module: 'dns', listens: { dns: { port: 53, protocol: 'both', fixed: true }, admin: 80 } });
    await add(world, { module: 'cache', listens: { dns: { port: 53, protocol: 'udp', fixed: true }, admin: 80 } });
    const { answers, attempts } = await atOnce(put('alpha', 'dns'), put('alpha', 'cache'));
    expect(again(attempts)).toBeGreaterThan(0);
    const [won] = answers.filter((answer) => !isRefusal(answer)).map(accepted);
    expect(answers.filter(isRefusal)).toMatchObject([{ kind: 'port-held', facts: { port: 53, holder: won?.module } }]);
    expect(await world.ask(`select module from mesh.assignments`)).toEqual([{ module: won?.module }]);
    expect(await world.ask(`select distinct module from mesh.ports`)).toEqual([{ module: won?.module }]);
    await expectSound();
  });

  test('[M13] [M22] a claim of the whole mesh, wanted on two nodes: one holder, and the other told who', async () => {
    for (const name of ['alpha', 'beta']) await join(world, name);
    for (const name of ['vault-a', 'vault-b']) await add(world, { module: name, seats: ['the-vault'] });
    const { answers, attempts } = await atOnce(put('alpha', 'vault-a'), put('beta', 'vault-b'));
    expect(again(attempts)).toBeGreaterThan(0);
    const [won] = answers.filter((answer) => !isRefusal(answer)).map(accepted);
    expect(answers.filter(isRefusal)).toMatchObject([
      { kind: 'claim-held', facts: { holder: `${won?.node}/${won?.module}` } },
    ]);
    await expectSound();
  });

  test('[M2] [M22] two that bring the same module along share it, with one set of ports', async () => {
    await join(world, 'alpha');
    await add(world, {
      module: 'shell',
      provides: ['shell'],
      listens: { tty: 7000 },
      claims: [{ name: 'tty', scope: 'node' }],
    });
    for (const name of ['one', 'two']) await add(world, { module: name, requires: ['shell'] });
    const { answers, attempts } = await atOnce(put('alpha', 'one'), put('alpha', 'two'));
    expect(again(attempts)).toBeGreaterThan(0);
    expect(answers.flatMap((answer) => accepted(answer).broughtAlong)).toEqual(['shell']);
    expect(await world.ask(`select module, port from mesh.ports`)).toEqual([{ module: 'shell', port: 20_000 }]);
  });

  test('[M4] [M22] a provider is taken off while a consumer comes to it: one of the two is refused, and nobody is bound to nothing', async () => {
    for (let round = 0; round < 3; round += 1) {
      world = await worlds.make();
      for (const name of ['alpha', 'beta']) await join(world, name);
      await add(world, postgres);
      await add(world, { module: 'notes', requires: ['postgres-database'] });
      accepted(await assign(world.store, 'ada', at('alpha', 'postgres')));
      const { answers, attempts } = await atOnce<unknown>(take('alpha', 'postgres'), put('beta', 'notes'));
      expect(again(attempts)).toBeGreaterThan(0);
      expect(answers.filter(isRefusal)).toHaveLength(1);
      expect(['provider-in-use', 'no-provider']).toContain(refused(answers.find(isRefusal)).kind);
      await expectSound();
    }
  });

  test('[M4] [M22] a pin made while its provider is taken off: either the pin or the removal is refused', async () => {
    for (const name of ['alpha', 'beta']) await join(world, name);
    await add(world, postgres);
    accepted(await assign(world.store, 'ada', at('alpha', 'postgres')));
    const wanted = { node: node('beta'), provision: postgresDatabase, provider: { node: node('alpha') } };
    const { answers } = await atOnce<unknown>(take('alpha', 'postgres'), (store) => pin(store, 'ada', wanted));
    expect(['provider-in-use', 'pin-at-nothing']).toContain(refused(answers.find(isRefusal)).kind);
    expect(
      await world.ask(`select node from mesh.pins p where not exists
      (select from mesh.assignments a where a.node = p.provider_node)`),
    ).toEqual([]);
  });

  test('[M18] [M22] a module changed while it is assigned has the ports of what it is now', async () => {
    await join(world, 'alpha');
    await add(world, { module: 'web', listens: { http: 80 } });
    const manifest = accepted(
      parseManifest({ module: 'web', version: '2.0.0', listens: { http: 80, admin: 81 } }, 'module.yaml'),
    );
    const next = { manifest, files: new Map(), digest: `sha256:${hash('2')}` };
    const { answers } = await atOnce<unknown>(put('alpha', 'web'), (store) => addModule(store, 'ada', next));
    expect(answers.filter(isRefusal)).toEqual([]);
    expect(await world.ask(`select listens, port from mesh.ports order by port`)).toEqual(
      expect.arrayContaining([
        { listens: 'http', port: expect.any(Number) },
        { listens: 'admin', port: expect.any(Number) },
      ]),
    );
    await expectSound();
  });

  test('[M18] taken off and put back at once, many times over, leaves one of both worlds and never half', async () => {
    await join(world, 'alpha');
    await add(world, {
      module: 'web',
      listens: { http: 80, smtp: { port: 25, fixed: true } },
      claims: [{ name: 'web', scope: 'mesh' }],
    });
    accepted(await assign(world.store, 'ada', at('alpha', 'web')));
    for (let round = 0; round < 5; round += 1) {
      await atOnce<unknown>(take('alpha', 'web'), put('alpha', 'web'));
      const counts = await world.ask(`select (select count(*)::int from mesh.assignments) as assigned,
        (select count(*)::int from mesh.ports where released_at is null) as ports, (select count(*)::int from mesh.claims) as claims`);
      expect([
        { assigned: 1, ports: 2, claims: 1 },
        { assigned: 0, ports: 0, claims: 0 },
      ]).toContainEqual(counts[0]);
      await assign(world.store, 'ada', at('alpha', 'web'));
    }
  });
});

describe('ports that a node carries', () => {
  const carries = (sequence: number, ports: readonly number[], whole = true) =>
    recordReport(
      world.store,
      aReport('alpha', {
        sequence,
        declared: 2,
        applied: whole ? 2 : 1,
        outcome: whole ? 'applied' : 'failed',
        failures: whole ? [] : [{ resource: 'web/file/a', error: 'no' }],
        carriedPorts: ports.map((port) => ({ protocol: 'tcp', port })),
      }),
      Date.now(),
    );
  const carried = () => world.ask(`select port from mesh.carried_ports order by port`);

  test('[M21] are replaced whole by each complete report, and by no other', async () => {
    await join(world, 'alpha');
    await carries(2, [25, 20_000]);
    expect(await carried()).toEqual([{ port: 25 }, { port: 20_000 }]);
    await carries(3, [26], false);
    expect(await carried()).toEqual([{ port: 25 }, { port: 20_000 }]);
    await carries(4, [20_001]);
    expect(await carried()).toEqual([{ port: 20_001 }]);
  });

  test('[M21] are avoided by what is assigned, and a fixed one on them is refused by name; what was given before stays', async () => {
    await join(world, 'alpha');
    await carries(2, [25, 20_000]);
    await add(world, { module: 'web', listens: { http: 80 } });
    await add(world, { module: 'mail', listens: { smtp: { port: 25, fixed: true } } });
    expect(accepted(await assign(world.store, 'ada', at('alpha', 'web'))).ports).toMatchObject([{ port: 20_001 }]);
    expect(refused(await assign(world.store, 'ada', at('alpha', 'mail')))).toMatchObject({
      kind: 'port-carried',
      facts: { port: 25, module: 'mail' },
    });
    await carries(3, []);
    expect(accepted(await assign(world.store, 'ada', at('alpha', 'mail'))).ports).toMatchObject([{ port: 25 }]);
    expect(accepted(await assign(world.store, 'ada', at('alpha', 'web'))).ports).toMatchObject([{ port: 20_001 }]);
  });
});

test('[M15] a setting made while its module changes is kept, whichever was first', async () => {
  await join(world, 'alpha');
  await add(world, { module: 'web', settings: { title: {} } });
  const setting = { ...at('alpha', 'web'), name: partName.parse('title'), value: 'Ours' };
  const manifest = accepted(parseManifest({ module: 'web', version: '2.0.0', settings: { title: {} } }, 'module.yaml'));
  await Promise.all([
    setSetting(world.another(), 'ada', setting),
    addModule(world.another(), 'ada', { manifest, files: new Map(), digest: `sha256:${hash('2')}` }),
  ]);
  expect(await world.ask(`select value from mesh.settings`)).toEqual([{ value: 'Ours' }]);
});
