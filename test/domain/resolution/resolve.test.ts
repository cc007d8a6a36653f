import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pairPath } from '../../../src/domain/credential/credential.ts';
import type { Inventory } from '../../../src/domain/resolution/inventory.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import { nodeName } from '../../../src/domain/words/names.ts';
import { at, binding, consumer, mesh, module, node, pin, provider, refused, resolved } from '../mesh.ts';

const names = (inventory: Inventory, on: string) => resolved(inventory, on).modules.map((one) => one.module);
const bindings = (inventory: Inventory, on: string) =>
  resolved(inventory, on).bindings.map(
    (one) => `${one.consumer.module}:${one.provision}:${one.provider.node}/${one.provider.module}`,
  );

describe('requirements of scope node', () => {
  const zsh = module('zsh', { provides: ['shell'], requires: ['terminal'] });
  const terminal = module('xterm', { provides: ['terminal'] });
  const desktop = module('desktop', { requires: ['shell'] });

  test('[M2] are answered by installing the provider, and its own in turn, each with why it is there', () => {
    const inventory = mesh({ modules: [zsh, terminal, desktop], assigned: ['alpha/desktop'] });
    expect(resolved(inventory, 'alpha').modules).toEqual([
      { module: 'desktop', why: [{ kind: 'assigned' }] },
      { module: 'xterm', why: [{ kind: 'required', by: 'zsh', provision: 'terminal' }] },
      { module: 'zsh', why: [{ kind: 'required', by: 'desktop', provision: 'shell' }] },
    ]);
    expect(names(inventory, 'beta')).toEqual([]);
  });

  test('[M2] two modules that could answer are refused naming both, until one of them is there', () => {
    const both = { modules: [zsh, terminal, desktop, module('fish', { provides: ['shell'] })] };
    const [refusal] = refused(mesh({ ...both, assigned: ['alpha/desktop'] }), 'alpha');
    expect(refusal).toMatchObject({
      kind: 'ambiguous-local-provider',
      what: 'desktop on alpha requires shell, and fish and zsh could answer it',
      next: ['mesh assign alpha fish', 'mesh assign alpha zsh'],
    });
    expect(names(mesh({ ...both, assigned: ['alpha/desktop', 'alpha/fish'] }), 'alpha')).toEqual(['desktop', 'fish']);
    expect(
      refused(mesh({ ...both, assigned: ['alpha/desktop', 'alpha/fish', 'alpha/zsh'] }), 'alpha')[0]?.next,
    ).toEqual(['mesh unassign alpha fish', 'mesh unassign alpha zsh']);
  });

  test('[M2] a circle is refused, naming each step once', () => {
    const ring = [module('a', { provides: ['p'], requires: ['q'] }), module('b', { provides: ['q'], requires: ['p'] })];
    const refusals = refused(mesh({ modules: ring, assigned: ['alpha/a'] }), 'alpha');
    expect(refusals).toMatchObject([
      { kind: 'provider-cycle', what: 'on alpha, a requires q of b, and b requires p of a' },
    ]);
  });

  test('[M2] a mesh-scoped one is never answered by installing', () => {
    const inventory = mesh({ modules: [provider('postgres'), consumer('notes')], assigned: ['alpha/notes'] });
    expect(refused(inventory, 'alpha')).toMatchObject([
      {
        kind: 'no-provider',
        what: 'notes on alpha requires postgres-database, and no node provides it',
        next: ['mesh assign <node> postgres'],
      },
    ]);
  });

  test('[M5] what an installed module offers is known before anything is bound', () => {
    const bundle = module('bundle', { requires: ['engine'] });
    const engine = provider('postgres', 'postgres-database', {
      provides: ['engine', { name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/g' }],
    });
    // alpha comes first, so one pass would have found nothing to bind to.
    const inventory = mesh({ modules: [bundle, engine, consumer('notes')], assigned: ['alpha/notes', 'beta/bundle'] });
    expect(bindings(inventory, 'alpha')).toEqual(['notes:postgres-database:beta/postgres']);
  });
});

describe('requirements of scope mesh', () => {
  const modules = [provider('postgres'), provider('cockroach'), consumer('notes')];

  test('[M3] two providers are refused with one pin command each, and the module only where it is needed', () => {
    const [refusal] = refused(
      mesh({ modules, assigned: ['alpha/notes', 'beta/postgres', 'gamma/postgres', 'gamma/cockroach'] }),
      'alpha',
    );
    expect(refusal?.kind).toBe('ambiguous-provider');
    expect(refusal?.next).toEqual([
      'mesh pin alpha postgres-database beta',
      'mesh pin alpha postgres-database gamma/cockroach',
      'mesh pin alpha postgres-database gamma/postgres',
    ]);
  });

  test('[M4] a pin is taken though another is the only one to offer, and refuses rather than fall back', () => {
    const one = mesh({
      modules,
      assigned: ['alpha/notes', 'beta/postgres'],
      pins: [pin('alpha', 'postgres-database', 'gamma')],
    });
    expect(refused(one, 'alpha')).toMatchObject([{ kind: 'pin-unanswered', facts: { pinnedTo: 'gamma' } }]);
    const two = mesh({
      modules,
      assigned: ['alpha/notes', 'beta/postgres', 'gamma/postgres'],
      pins: [pin('alpha', 'postgres-database', 'gamma')],
    });
    expect(bindings(two, 'alpha')).toEqual(['notes:postgres-database:gamma/postgres']);
  });

  test('[M4] a pin that names a module is at that one', () => {
    const assigned = ['alpha/notes', 'gamma/postgres', 'gamma/cockroach'];
    const to = (text: string) => mesh({ modules, assigned, pins: [pin('alpha', 'postgres-database', text)] });
    expect(bindings(to('gamma/cockroach'), 'alpha')).toEqual(['notes:postgres-database:gamma/cockroach']);
    expect(refused(to('gamma'), 'alpha')[0]?.kind).toBe('ambiguous-provider');
  });

  test('[M4] a binding once made stays when a second provider comes, and moves only by a pin', () => {
    const made = {
      modules,
      assigned: ['alpha/notes', 'beta/postgres', 'gamma/postgres'],
      bindings: [binding('alpha/notes', 'postgres-database', 'gamma/postgres')],
    };
    expect(bindings(mesh(made), 'alpha')).toEqual(['notes:postgres-database:gamma/postgres']);
    expect(bindings(mesh({ ...made, pins: [pin('alpha', 'postgres-database', 'beta')] }), 'alpha')).toEqual([
      'notes:postgres-database:beta/postgres',
    ]);
    const gone = mesh({ ...made, assigned: ['alpha/notes', 'beta/postgres'] });
    expect(refused(gone, 'alpha')).toMatchObject([
      { kind: 'binding-broken', next: ['mesh pin alpha postgres-database beta'] },
    ]);
  });

  test('[M4] a module of scope node that is added later does not move a binding', () => {
    const inventory = mesh({
      modules: [...modules, module('sqlite', { provides: ['postgres-database'] })],
      assigned: ['alpha/notes', 'beta/postgres'],
      bindings: [binding('alpha/notes', 'postgres-database', 'beta/postgres')],
    });
    expect(bindings(inventory, 'alpha')).toEqual(['notes:postgres-database:beta/postgres']);
  });

  test('[M4] whatever is offered, a pinned requirement is bound at its pin or refused', () => {
    const places = fc.subarray(['alpha', 'beta', 'gamma', 'delta'], { minLength: 0 });
    fc.assert(
      fc.property(
        places,
        places,
        fc.constantFrom('alpha', 'beta', 'gamma', 'delta'),
        fc.option(fc.constantFrom('beta', 'gamma')),
        (postgres, cockroach, to, before) => {
          const inventory = mesh({
            nodes: ['home', 'alpha', 'beta', 'gamma', 'delta'],
            modules,
            assigned: [
              'home/notes',
              ...postgres.map((one) => `${one}/postgres`),
              ...cockroach.map((one) => `${one}/cockroach`),
            ],
            pins: [pin('home', 'postgres-database', to)],
            bindings: before === null ? [] : [binding('home/notes', 'postgres-database', `${before}/postgres`)],
          });
          const found = resolve(inventory).nodes.get(nodeName.parse('home'));
          if (found?.kind === 'resolved') expect(found.bindings.map((one) => one.provider.node)).toEqual([to]);
          else expect(['pin-unanswered', 'ambiguous-provider']).toContain(found?.refusals[0]?.kind);
          expect(found?.kind === 'resolved').toBe(
            postgres.includes(to) !== cockroach.includes(to) || (postgres.includes(to) && before === to),
          );
        },
      ),
    );
  });
});

describe('credentials', () => {
  test('[M7] eight modules against one server are eight needs, a local each its own', () => {
    const eight = Array.from({ length: 8 }, (_, index) => consumer(`app-${index}`));
    const inventory = mesh({
      modules: [provider('postgres'), ...eight],
      assigned: ['beta/postgres', ...eight.map((_, index) => `alpha/app-${index}`)],
    });
    expect(new Set(resolved(inventory, 'alpha').needs.map((need) => pairPath(need.key))).size).toBe(8);
    expect(resolve(inventory).asked.get(nodeName.parse('beta'))).toHaveLength(8);
    const locals = consumer('notes', { app: { file: '/a', as: 'json' }, reports: { file: '/b', as: 'url' } });
    const two = mesh({
      modules: [provider('postgres'), locals],
      assigned: ['beta/postgres', 'alpha/notes', 'gamma/notes'],
    });
    expect(
      resolve(two)
        .asked.get(nodeName.parse('beta'))
        ?.map((need) => [pairPath(need.key), need.form, 'file' in need ? need.file : undefined]),
    ).toEqual([
      ['beta/postgres-database/alpha/notes/app', 'json', '/a'],
      ['beta/postgres-database/alpha/notes/reports', 'url', '/b'],
      ['beta/postgres-database/gamma/notes/app', 'json', '/a'],
      ['beta/postgres-database/gamma/notes/reports', 'url', '/b'],
    ]);
  });

  test('[M7] needs are one for each provision, consumer module and local, however many nodes there are', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(20), { maxLength: 8 }), fc.integer({ min: 1, max: 5 }), (apps, nodes) => {
        const hosts = Array.from({ length: nodes }, (_, index) => `n${index}`);
        const inventory = mesh({
          nodes: ['db', ...hosts],
          modules: [provider('postgres'), ...apps.map((app) => consumer(`app-${app}`))],
          assigned: ['db/postgres', ...hosts.flatMap((host) => apps.map((app) => `${host}/app-${app}`))],
        });
        const asked = resolve(inventory).asked.get(nodeName.parse('db')) ?? [];
        expect(asked).toHaveLength(apps.length * nodes);
        expect(new Set(asked.map((need) => pairPath(need.key))).size).toBe(asked.length);
      }),
    );
  });

  test('a credential from a provider that takes none is refused', () => {
    const deaf = module('postgres', {
      listens: { sql: 5432 },
      provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql' }],
    });
    const inventory = mesh({ modules: [deaf, consumer('notes')], assigned: ['beta/postgres', 'alpha/notes'] });
    expect(refused(inventory, 'alpha')[0]?.kind).toBe('secret-cannot-be-made');
    expect(refused(inventory, 'beta')).toEqual([]);
  });
});

describe('facts of a binding', () => {
  test('[P12] [D5] a file that asks for facts that its provider never tells is refused early, by name; told ones are not', () => {
    const asks = module('notes', {
      requires: ['postgres-database'],
      resources: [{ kind: 'file', path: '/etc/notes/db', content: '${bound:postgres-database.reports:port}' }],
    });
    const silent = module('postgres', {
      listens: { sql: 5432 },
      provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql' }],
    });
    const assigned = ['beta/postgres', 'alpha/notes'];
    expect(refused(mesh({ modules: [silent, asks], assigned }), 'alpha')).toMatchObject([
      {
        kind: 'facts-untold',
        what: 'a file of notes on alpha holds ${bound:postgres-database.reports:port}, and postgres tells no facts of postgres-database',
        facts: { node: 'alpha', module: 'notes', provision: 'postgres-database' },
      },
    ]);
    expect(refused(mesh({ modules: [silent, asks], assigned }), 'beta')).toEqual([]);
    expect(refused(mesh({ modules: [provider('postgres'), asks], assigned }), 'alpha')).toEqual([]);
  });
});

describe('one node’s failure', () => {
  test('[D5] is its own: the others resolve, and its provider goes on granting what it has', () => {
    const inventory = mesh({
      modules: [provider('postgres'), consumer('notes'), module('broken', { requires: ['nowhere'] })],
      assigned: ['alpha/notes', 'alpha/broken', 'beta/postgres', 'gamma/notes'],
    });
    expect(refused(inventory, 'alpha').map((one) => one.kind)).toEqual(['no-provider']);
    expect(bindings(inventory, 'gamma')).toEqual(['notes:postgres-database:beta/postgres']);
    expect(
      resolve(inventory)
        .asked.get(nodeName.parse('beta'))
        ?.map((need) => need.key.consumerNode),
    ).toEqual(['alpha', 'gamma']);
  });

  test('[D5] a pin that is not answered takes no access away that the consumer has', () => {
    const inventory = mesh({
      modules: [provider('postgres'), consumer('notes')],
      assigned: ['alpha/notes', 'beta/postgres'],
      bindings: [binding('alpha/notes', 'postgres-database', 'beta/postgres')],
      pins: [pin('alpha', 'postgres-database', 'gamma')],
    });
    expect(refused(inventory, 'alpha')[0]?.kind).toBe('pin-unanswered');
    expect(resolve(inventory).asked.get(nodeName.parse('beta'))).toHaveLength(1);
  });

  test('resolution does not depend on the order of what it is given', () => {
    const inventory = mesh({
      modules: [
        provider('postgres'),
        consumer('notes'),
        consumer('ledger', '/l'),
        module('zsh', { provides: ['shell'] }),
        module('desk', { requires: ['shell'] }),
      ],
      assigned: ['alpha/notes', 'alpha/desk', 'beta/postgres', 'gamma/ledger', 'gamma/notes'],
    });
    const byNode = (from: Inventory) => {
      const { nodes, asked } = resolve(from);
      return { nodes: [...nodes].toSorted(([a], [b]) => (a < b ? -1 : 1)), asked: [...asked] };
    };
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...inventory.modules], { minLength: 5 }),
        fc.shuffledSubarray([...inventory.assignments], { minLength: 5 }),
        fc.shuffledSubarray([...inventory.nodes], { minLength: 3 }),
        (modules, assignments, nodes) =>
          expect(byNode({ ...inventory, modules, assignments, nodes })).toEqual(byNode(inventory)),
      ),
    );
  });

  test('a thousand nodes with twenty modules each resolve in well under a second', () => {
    const apps = Array.from({ length: 19 }, (_, index) => consumer(`app-${index}`));
    const hosts = Array.from({ length: 1000 }, (_, index) => `n${index}`);
    const inventory = mesh({
      nodes: hosts.map((name) => node(name)),
      modules: [provider('postgres'), ...apps],
      assigned: hosts.flatMap((host) => [`${host}/postgres`, ...apps.map((_, index) => `${host}/app-${index}`)]),
      pins: hosts.map((host) => pin(host, 'postgres-database', host)),
    });
    const started = performance.now();
    const { nodes } = resolve(inventory);
    // A hundred times what it takes when nothing is searched one for another, and far below what a square costs.
    expect(performance.now() - started).toBeLessThan(3000);
    expect([...nodes.values()].every((one) => one.kind === 'resolved')).toBe(true);
  });

  test('a module that is assigned and not known is refused by name', () => {
    expect(refused(mesh({ assigned: ['alpha/ghost'] }), 'alpha')).toMatchObject([
      { kind: 'unknown-module', facts: at('alpha/ghost') },
    ]);
  });
});
