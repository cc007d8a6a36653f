import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { provisionName } from '../../src/domain/words/names.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { pin, unpin } from '../../src/operations/intent/pin.ts';
import { setSetting } from '../../src/operations/intent/set-setting.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { partName } from '../../src/domain/words/names.ts';
import { accepted, add, join, module, node, raiseWorlds, refused, type World, type Worlds } from './world.ts';

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
const provision = (name: string) => provisionName.parse(name);

const postgres = {
  module: 'postgres',
  provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/postgres-grants' }],
  listens: { sql: 5432 },
};
const notes = {
  module: 'notes',
  requires: ['postgres-database'],
  listens: { http: 8080 },
  secrets: { 'postgres-database': { file: '/etc/notes/db.json', as: 'json' } },
};

/** Every row that an assignment could leave behind. */
const traces = () =>
  world.ask(`select 'assignment' as of, node, module from mesh.assignments
     union all select 'port', node, module from mesh.ports union all select 'claim', node, module from mesh.claims
     union all select 'binding', node, module from mesh.bindings union all select 'event', kind, about from mesh.events
     order by 1, 2, 3`);

describe('assigning', () => {
  test('[M18] ports are made once and kept; [M17] from the mesh’s range, the lowest that is free', async () => {
    await join(world, 'alpha');
    await add(world, postgres);
    const first = accepted(await put('alpha', 'postgres'));
    expect(first).toMatchObject({
      change: 'assigned',
      ports: [{ listens: 'sql', protocol: 'tcp', port: 20_000, fixed: false }],
    });
    const again = accepted(await put('alpha', 'postgres'));
    expect(again).toMatchObject({ change: 'same', ports: first.ports });
    expect(await world.ask(`select kind from mesh.events where kind = 'assigned'`)).toHaveLength(1);
  });

  test('[M2] what it requires of the node comes along, with its ports, claims and capabilities', async () => {
    await join(world, 'alpha', [{ name: 'firewall', present: true, detail: {} }]);
    await add(world, {
      module: 'shell',
      provides: ['shell'],
      listens: { tty: 7000 },
      claims: [{ name: 'shell', scope: 'node' }],
      capabilities: ['firewall'],
    });
    await add(world, { module: 'tools', requires: ['shell'] });
    expect(accepted(await put('alpha', 'tools'))).toMatchObject({
      broughtAlong: ['shell'],
      ports: [{ module: 'shell', listens: 'tty', port: 20_000 }],
    });
    expect(await world.ask(`select name, place, module from mesh.claims`)).toEqual([
      { name: 'shell', place: 'alpha', module: 'shell' },
    ]);
    expect(accepted(await take('alpha', 'tools'))).toMatchObject({ left: ['shell', 'tools'] });
    expect(await world.ask(`select from mesh.claims`)).toEqual([]);
  });

  test('[M11] a capability that is missing is refused in the node’s own words, also of what would come along', async () => {
    await join(world, 'alpha', [{ name: 'firewall', present: false, reason: 'nft is not installed' }]);
    await add(world, { module: 'shell', provides: ['shell'], capabilities: ['firewall'] });
    await add(world, { module: 'tools', requires: ['shell'] });
    const before = await traces();
    expect(refused(await put('alpha', 'tools'))).toMatchObject({
      kind: 'capability-missing',
      what: expect.stringContaining('nft is not installed'),
    });
    expect(await traces()).toEqual(before);
  });

  test('[M13] a claim has one holder; the second is refused by name, and gets it once the first is gone', async () => {
    await join(world, 'alpha');
    await join(world, 'beta');
    for (const name of ['caddy', 'nginx'])
      await add(world, { module: name, claims: [{ name: 'reverse-proxy', scope: 'node' }] });
    for (const name of ['vault-a', 'vault-b']) await add(world, { module: name, seats: ['the-vault'] });
    accepted(await put('alpha', 'caddy'));
    accepted(await put('beta', 'nginx'));
    expect(refused(await put('alpha', 'nginx'))).toMatchObject({
      kind: 'claim-held',
      facts: { holder: 'alpha/caddy' },
    });
    accepted(await take('alpha', 'caddy'));
    accepted(await put('alpha', 'nginx'));
    accepted(await put('alpha', 'vault-a'));
    expect(refused(await put('beta', 'vault-b'))).toMatchObject({
      kind: 'claim-held',
      facts: { holder: 'alpha/vault-a', place: '*' },
    });
  });

  test('[M19] a fixed port is claimed on each of its protocols; [M21] one that the node carries is refused by name', async () => {
    await join(world, 'alpha');
    await add(world, { module: 'dns', listens: { dns: { port: 53, protocol: 'both', fixed: true } } });
    await add(world, { module: 'cache', listens: { dns: { port: 53, protocol: 'udp', fixed: true } } });
    await add(world, { module: 'mail', listens: { smtp: { port: 25, fixed: true } } });
    accepted(await put('alpha', 'dns'));
    expect(refused(await put('alpha', 'cache'))).toMatchObject({
      kind: 'port-held',
      facts: { holder: 'dns', port: 53 },
    });
    await world.ask(
      `insert into mesh.carried_ports (node, protocol, port) values ('alpha', 'tcp', 25), ('alpha', 'tcp', 20000)`,
    );
    expect(refused(await put('alpha', 'mail'))).toMatchObject({ kind: 'port-carried', facts: { port: 25 } });
    await add(world, postgres);
    expect(accepted(await put('alpha', 'postgres')).ports).toMatchObject([{ port: 20_001 }]);
  });

  test('[M4] a binding is recorded when it is made, stays when a second provider comes, and moves only by a pin', async () => {
    for (const name of ['alpha', 'beta', 'gamma']) await join(world, name);
    await add(world, postgres);
    await add(world, notes);
    expect(refused(await put('beta', 'notes'))).toMatchObject({
      kind: 'no-provider',
      next: ['mesh assign <node> postgres'],
    });
    accepted(await put('alpha', 'postgres'));
    accepted(await put('beta', 'notes'));
    accepted(await put('gamma', 'postgres'));
    const bindings = () => world.ask(`select node, provider_node from mesh.bindings order by node`);
    expect(await bindings()).toEqual([{ node: 'beta', provider_node: 'alpha' }]);
    expect(refused(await put('gamma', 'notes'))).toMatchObject({
      kind: 'ambiguous-provider',
      next: ['mesh pin gamma postgres-database alpha', 'mesh pin gamma postgres-database gamma'],
    });
    const there = { node: node('beta'), provision: provision('postgres-database'), provider: { node: node('gamma') } };
    expect(accepted(await pin(world.store, 'ada', there))).toMatchObject({
      change: 'pinned',
      moved: [{ node: 'beta', provider: { node: 'gamma' } }],
    });
    expect(accepted(await pin(world.store, 'ada', there))).toMatchObject({ change: 'same' });
    expect(await bindings()).toEqual([{ node: 'beta', provider_node: 'gamma' }]);
    accepted(await unpin(world.store, 'ada', there));
    expect(await bindings()).toEqual([{ node: 'beta', provider_node: 'gamma' }]);
    expect(refused(await unpin(world.store, 'ada', there))).toMatchObject({ kind: 'unknown-pin' });
  });

  test('[M4] a pin at what does not provide is refused; a provider with bindings or pins stays', async () => {
    for (const name of ['alpha', 'beta']) await join(world, name);
    await add(world, postgres);
    await add(world, notes);
    const atNothing = {
      node: node('alpha'),
      provision: provision('postgres-database'),
      provider: { node: node('beta') },
    };
    expect(refused(await pin(world.store, 'ada', atNothing))).toMatchObject({ kind: 'pin-at-nothing' });
    expect(await world.ask(`select from mesh.pins`)).toEqual([]);
    accepted(await put('alpha', 'postgres'));
    accepted(await put('beta', 'notes'));
    expect(refused(await take('alpha', 'postgres'))).toMatchObject({
      kind: 'provider-in-use',
      what: expect.stringContaining('notes on beta'),
    });
    accepted(await take('beta', 'notes'));
    const pinned = { node: node('beta'), provision: provision('postgres-database'), provider: { node: node('alpha') } };
    accepted(await pin(world.store, 'ada', pinned));
    expect(refused(await take('alpha', 'postgres'))).toMatchObject({
      kind: 'provider-in-use',
      next: ['mesh unpin beta postgres-database'],
    });
    accepted(await unpin(world.store, 'ada', pinned));
    accepted(await take('alpha', 'postgres'));
    expect(await world.ask(`select from mesh.bindings union all select from mesh.ports`)).toEqual([]);
  });

  test('[M14] an unassigned consumer keeps its sealed secret, and is emitted no grant; coming back it has the same', async () => {
    for (const name of ['alpha', 'beta']) await join(world, name);
    await add(world, postgres);
    await add(world, notes);
    accepted(await put('alpha', 'postgres'));
    accepted(await put('beta', 'notes'));
    await world.ask(`insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module,
        generation, stage, origin, consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint)
      values ('postgres-database', 'alpha', 'postgres', 'beta', 'notes', 1, 'current', 'made', 'c', 'k', 'p', 'k')`);
    const secrets = () => world.ask(`select * from mesh.pair_secrets`);
    const before = await secrets();
    accepted(await take('beta', 'notes'));
    expect(
      await world.ask(
        `select from mesh.bindings where node = 'beta' union all select from mesh.ports where node = 'beta'`,
      ),
    ).toEqual([]);
    expect(await secrets()).toEqual(before);
    accepted(await put('beta', 'notes'));
    expect(await secrets()).toEqual(before);
  });

  test('[M12] [M1] what is unknown or not assigned says so', async () => {
    await join(world, 'alpha');
    await add(world, postgres);
    expect(refused(await put('nowhere', 'postgres'))).toMatchObject({ kind: 'unknown-node' });
    expect(refused(await put('alpha', 'nothing'))).toMatchObject({ kind: 'unknown-module' });
    expect(refused(await take('alpha', 'postgres'))).toMatchObject({ kind: 'unknown-assignment' });
  });

  test('[M15] adding a module again keeps settings, secrets, ports and assignments, and gives it what is new', async () => {
    await join(world, 'alpha');
    await add(world, { ...postgres, settings: { title: { default: 'Databases' } } });
    accepted(await put('alpha', 'postgres'));
    const setting = { ...at('alpha', 'postgres'), name: partName.parse('title'), value: 'Ours' };
    accepted(await setSetting(world.store, 'ada', setting));
    expect(refused(await setSetting(world.store, 'ada', { ...setting, name: partName.parse('colour') }))).toMatchObject(
      { kind: 'unknown-setting' },
    );
    await world.ask(
      `insert into mesh.own_secrets (node, module, name, origin, node_blob, node_fingerprint) values ('alpha', 'postgres', 'root', 'made', 'x', 'k')`,
    );
    const rows = () => world.ask(`select listens, port from mesh.ports order by listens`);
    expect(await rows()).toEqual([{ listens: 'sql', port: 20_000 }]);
    await add(world, {
      ...postgres,
      version: '2.0.0',
      listens: { admin: 9000, sql: 5432 },
      settings: { title: { default: 'DB' } },
    });
    expect(await rows()).toEqual([
      { listens: 'admin', port: 20_001 },
      { listens: 'sql', port: 20_000 },
    ]);
    expect(
      await world.ask(`select value from mesh.settings union all select to_jsonb(name) from mesh.own_secrets`),
    ).toEqual([{ value: 'Ours' }, { value: 'root' }]);
    expect(await world.ask(`select version from mesh.modules`)).toEqual([{ version: '2.0.0' }]);
    expect(await world.ask(`select module from mesh.assignments`)).toEqual([{ module: 'postgres' }]);
  });
});

describe('[M22] assigning at once', () => {
  test('the same assignment raced: its answer is the answer', async () => {
    await join(world, 'alpha');
    await add(world, postgres);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => assign(world.another(), 'ada', at('alpha', 'postgres'))),
    );
    const ports = answers.map((answer) => accepted(answer).ports);
    expect(new Set(ports.map((rows) => JSON.stringify(rows))).size).toBe(1);
    expect(answers.filter((answer) => accepted(answer).change === 'assigned')).toHaveLength(1);
  });

  test('modules that race for numbers each get one of their own', async () => {
    await join(world, 'alpha');
    const names = ['one', 'two', 'three', 'four', 'five'];
    for (const name of names) await add(world, { module: name, listens: { http: 80, admin: 81 } });
    const answers = await Promise.all(names.map((name) => assign(world.another(), 'ada', at('alpha', name))));
    const ports = answers.flatMap((answer) => accepted(answer).ports.map(({ port }) => port));
    expect(ports.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, index) => 20_000 + index));
  });

  test('a fixed port that two race for: one gets it, the other is refused naming the holder, and leaves nothing', async () => {
    for (let round = 0; round < 4; round += 1) {
      world = await worlds.make();
      await join(world, 'alpha');
      for (const name of ['postfix', 'exim'])
        await add(world, { module: name, listens: { smtp: { port: 25, fixed: true }, submission: 587 } });
      const answers = await Promise.all(
        ['postfix', 'exim'].map((name) => assign(world.another(), 'ada', at('alpha', name))),
      );
      const won = answers.filter((answer) => 'change' in answer).map(accepted);
      const lost = answers.filter((answer) => !('change' in answer)).map(refused);
      expect(won).toHaveLength(1);
      expect(lost).toMatchObject([{ kind: 'port-held', facts: { port: 25, holder: won[0]?.module } }]);
      expect(await world.ask(`select distinct module from mesh.ports`)).toEqual([{ module: won[0]?.module }]);
    }
  });
});
