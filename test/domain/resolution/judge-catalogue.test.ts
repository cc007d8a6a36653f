import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { judgeCatalogue } from '../../../src/domain/resolution/judge-catalogue.ts';
import { consumer, module, provider } from '../mesh.ts';

const judged = (...modules: readonly ReturnType<typeof module>[]) =>
  judgeCatalogue(modules.map((one, index) => ({ ...one, folder: `catalogue/${index}` })));
const box = (name: string, image: unknown, provides: unknown[]) =>
  module(name, { provides, resources: [{ kind: 'container', name: 'box', image }] });

describe('[M9] a catalogue as a whole', () => {
  test('[M9] is good when everything that is required is provided, whoever provides it', () => {
    expect(judged(provider('postgres'), consumer('notes'), consumer('ledger'))).toEqual([]);
    expect(judged(module('zsh', { provides: ['shell'] }), module('bash', { provides: ['shell'] }))).toEqual([]);
    expect(judged()).toEqual([]);
  });

  test('[M9] a requirement that nothing provides is named with the module that has it', () => {
    expect(judged(consumer('notes'), module('tools', { requires: ['shell'], provides: ['tools'] }))).toMatchObject([
      { kind: 'no-provider', facts: { module: 'notes', provision: 'postgres-database' } },
      { kind: 'no-provider', facts: { module: 'tools', provision: 'shell' } },
    ]);
  });

  test('[M9] [P12] a file that asks for facts that nothing in the catalogue tells is named, with the placeholder and both remedies', () => {
    const asks = module('notes', {
      requires: ['postgres-database'],
      resources: [{ kind: 'file', path: '/etc/notes/db', content: 'at ${bound:postgres-database:host}' }],
    });
    const silent = module('postgres', {
      listens: { sql: 5432 },
      provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql' }],
    });
    expect(judged(provider('postgres'), asks)).toEqual([]);
    expect(judged(provider('other'), silent, asks)).toEqual([]);
    expect(judged(silent, consumer('ledger')).filter(({ kind }) => kind === 'facts-untold')).toEqual([]);
    expect(judged(silent, asks)).toMatchObject([
      {
        kind: 'facts-untold',
        what: 'a file of notes holds ${bound:postgres-database:host}, and postgres tells no facts of postgres-database',
        next: [
          'write grants: <directory> at postgres-database in the manifest of postgres',
          expect.stringMatching(/^take \$\{bound:postgres-database:host\} out of the file, and write binds/),
        ],
      },
    ]);
  });

  test('[M9] the same image, provision and scope in two modules is one thing described twice', () => {
    const database = [{ name: 'postgres-database', scope: 'mesh' }];
    const same = judged(box('db-a', 'postgres:16', database), box('db-b', 'docker.io/library/postgres:16', database));
    expect(same).toMatchObject([
      { kind: 'described-twice', facts: { modules: ['db-a', 'db-b'], image: 'docker.io/library/postgres:16' } },
    ]);
    expect(same[0]?.what).toContain('db-a and db-b');
    // Each of the three makes it another thing.
    expect(judged(box('db-a', 'postgres:16', database), box('db-b', 'postgres:17', database))).toEqual([]);
    expect(
      judged(
        box('db-a', 'postgres:16', database),
        box('db-b', 'postgres:16', [{ name: 'sqlite-file', scope: 'mesh' }]),
      ),
    ).toEqual([]);
    expect(judged(box('db-a', 'postgres:16', database), box('db-b', 'postgres:16', ['postgres-database']))).toEqual([]);
  });

  test('[M9] an image is one under every spelling that an engine takes for it', () => {
    const pairs = [
      ['postgres', 'docker.io/library/postgres:latest'],
      ['bitnami/postgres:16', 'docker.io/bitnami/postgres:16'],
      ['localhost:5000/a', 'localhost:5000/a:latest'],
      ['a@sha256:00', 'docker.io/library/a@sha256:00'],
    ];
    for (const [one, other] of pairs)
      expect(judged(box('one', one, ['x']), box('other', other, ['x']))).toMatchObject([{ kind: 'described-twice' }]);
    expect(judged(box('one', 'registry.test/a', ['x']), box('other', 'a', ['x']))).toEqual([]);
    const built = { artifact: 'image', module: 'base' };
    expect(judged(box('one', built, ['x']), box('other', built, ['x']))).toMatchObject([{ kind: 'described-twice' }]);
    expect(judged(box('one', { artifact: 'image' }, ['x']), box('other', { artifact: 'image' }, ['x']))).toEqual([]);
  });

  test('[M9] one name in two folders is named with both', () => {
    expect(judged(module('notes'), module('wiki'), module('notes'))).toMatchObject([
      { kind: 'described-twice', facts: { module: 'notes', folders: ['catalogue/0', 'catalogue/2'] } },
    ]);
  });

  test('[M9] a circle of node scope is named once, step by step; one that a choice or another node can break is none', () => {
    const circle = [
      module('a', { provides: ['x'], requires: ['y'] }),
      module('b', { provides: ['y'], requires: ['z'] }),
      module('c', { provides: ['z'], requires: ['x'] }),
    ];
    expect(judged(...circle)).toMatchObject([{ kind: 'provider-cycle', facts: { modules: ['a', 'b', 'c'] } }]);
    expect(judged(...circle)[0]?.what).toBe('a requires y of b, and b requires z of c, and c requires x of a');
    expect(judged(...circle, module('other', { provides: ['z'] }))).toEqual([]);
    expect(judged(...circle, module('far', { provides: [{ name: 'z', scope: 'mesh' }] }))).toEqual([]);
    const [a, b] = circle;
    const far = module('c', { provides: [{ name: 'z', scope: 'mesh' }], requires: ['x'] });
    expect(a !== undefined && b !== undefined && judged(a, b, far)).toEqual([]);
    expect(judged(module('self', { provides: ['x'], requires: ['x'] }))).toMatchObject([{ kind: 'provider-cycle' }]);
  });

  test('[M9] what is found does not depend on the order in which folders are read', () => {
    const all = [
      consumer('notes'),
      module('a', { provides: ['x'], requires: ['y'] }),
      module('b', { provides: ['y'], requires: ['x'] }),
      box('one', 'i', ['p']),
      box('two', 'i', ['p']),
      module('tools', { requires: ['nothing'] }),
    ];
    const kinds = (of: readonly ReturnType<typeof module>[]) =>
      judged(...of)
        .map(({ kind }) => kind)
        .toSorted();
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (shuffled) => {
        expect(kinds(shuffled)).toEqual(kinds(all));
      }),
    );
  });
});
