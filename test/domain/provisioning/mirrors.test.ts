import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import {
  differenceOf,
  isOfNodes,
  mirrorsOf,
  pendingBuilds,
  type MirrorInput,
} from '../../../src/domain/provisioning/mirrors.ts';
import {
  assignmentIndex,
  assignmentPlan,
  buckets,
  composition,
  type BucketName,
} from '../../../src/domain/provisioning/values.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import { moduleName, nodeName, partName } from '../../../src/domain/words/names.ts';
import { at, consumer, mesh, module, node, port, provider } from '../mesh.ts';

const notes = module('notes', {
  requires: ['postgres-database'],
  secrets: { 'postgres-database': { reports: { file: '/etc/notes/reports', as: 'json' } } },
  listens: { http: 8080 },
  routes: [{ label: 'notes', listens: 'http' }],
  contributes: [
    { collection: 'shell:zsh', item: 'alias n=notes' },
    { collection: 'shell:zsh', item: 'alias m=more' },
  ],
  settings: { title: { default: 'Notes' }, size: {}, hue: { default: null } },
  resources: [
    { kind: 'directory', path: '/var/lib/notes/state', unknown: 'program' },
    { kind: 'directory', path: '/var/lib/notes/a/cache', unknown: 'program' },
    { kind: 'directory', path: '/var/lib/notes/b/cache', unknown: 'program' },
    {
      kind: 'file',
      path: '/etc/notes/a',
      content: '${collected:route} ${shell:zsh} ${seat:the-vault} ${seat:the-clock}',
    },
  ],
});
const vault = module('vault', { seats: ['the-vault'], answers: [{ kind: 'sealed', verb: 'the-vault.sealed' }] });

/** What mirrors hold, read as their readers read them. */
function read(of: Partial<MirrorInput> & Pick<MirrorInput, 'inventory'>) {
  const made = mirrorsOf({ resolution: resolve(of.inventory), settings: [], pending: new Map(), ...of });
  const values = (bucket: BucketName): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      [...(made.mirrors.get(bucket) ?? [])].map(([key, text]) => [key, z.json().parse(JSON.parse(text))]),
    );
  return {
    ...made,
    assignments: values(buckets.assignments),
    settings: values(buckets.settings),
    compositions: values(buckets.compositions),
  };
}

const inventory = mesh({
  nodes: [
    node('alpha', {
      capabilities: [
        { name: 'memory', present: true, detail: { total: '4 GiB' } },
        { name: 'gpu', present: false, reason: 'no device' },
      ],
    }),
    'beta',
  ],
  modules: [notes, vault, provider('postgres')],
  assigned: ['alpha/notes', 'beta/postgres', 'beta/vault'],
  ports: [port('alpha/notes', 'http', 20000), port('beta/postgres', 'sql', 20001)],
});
const publicDomains = new Map([[nodeName.parse('alpha'), 'a.example']]);

describe('the mirrors', () => {
  test('[P8] the index of a node names its modules, their settings and their bindings, and every key it names is there', () => {
    const { assignments, settings } = read({ inventory });
    expect(Object.keys(assignments).toSorted()).toEqual([
      'alpha',
      'alpha.notes',
      'beta',
      'beta.postgres',
      'beta.vault',
    ]);
    expect(assignmentIndex.parse(assignments['alpha'])).toEqual({
      modules: {
        notes: {
          version: '1',
          settings: ['hue', 'title'],
          bound: [
            { provision: 'postgres-database', provider: 'postgres' },
            { provision: 'postgres-database', local: 'reports', provider: 'postgres' },
          ],
        },
      },
    });
    expect(Object.keys(settings).toSorted()).toEqual(['alpha.notes.hue', 'alpha.notes.title']);
  });

  test('[P4] a module’s plan says where it is placed', () => {
    const { assignments } = read({ inventory, publicDomains });
    expect(assignmentPlan.parse(assignments['alpha.notes'])).toEqual({
      version: '1',
      dirs: { state: '/var/lib/notes/state' },
      access: { http: { host: 'alpha.test', port: 20000 } },
      ports: { http: 20000 },
      seats: { 'the-vault': 'beta', 'the-clock': null },
      machine: { memory: { total: '4 GiB' } },
      contributes: [
        { collection: 'shell:zsh', contributor: 'notes', item: 'alias n=notes' },
        { collection: 'shell:zsh', contributor: 'notes:2', item: 'alias m=more' },
        {
          collection: 'route',
          contributor: 'notes',
          item: { name: 'notes.a.example', host: 'alpha.test', port: 20000, node: 'alpha', module: 'notes' },
        },
      ],
    });
    expect(assignmentPlan.parse(assignments['beta.vault'])).toMatchObject({
      seats: { 'the-vault': 'beta' },
      machine: {},
    });
  });

  test('[P4] a setting is as it was set, or the manifest’s default; one that the manifest no longer has is not there', () => {
    const set = (name: string, value: unknown) => ({ ...at('alpha/notes'), name, value });
    const { settings } = read({ inventory, settings: [set('title', null), set('size', [1]), set('gone', 1)] });
    expect(settings).toEqual({ 'alpha.notes.title': null, 'alpha.notes.size': [1], 'alpha.notes.hue': null });
  });

  test('[P9] published is a composition that waits for no build', () => {
    const pending = new Map([
      [moduleName.parse('notes'), { version: '2', waitsFor: [partName.parse('image')], since: '2026-01-01T00:00:00Z' }],
    ]);
    const all = read({ inventory }).compositions;
    expect(composition.parse(all['notes'])).toEqual({
      version: '1',
      answers: [],
      collects: ['route', 'shell:zsh'],
      contributes: [
        { collection: 'shell:zsh', contributor: 'notes' },
        { collection: 'shell:zsh', contributor: 'notes:2' },
        { collection: 'route', contributor: 'notes' },
      ],
    });
    expect(composition.parse(all['vault']).answers).toEqual([{ kind: 'sealed', verb: 'the-vault.sealed' }]);
    const { assignments, compositions } = read({ inventory, pending });
    expect(Object.keys(compositions).toSorted()).toEqual(['postgres', 'vault']);
    expect(assignmentPlan.parse(assignments['alpha.notes']).build).toEqual(pending.get(moduleName.parse('notes')));
  });

  test('[P9] a version waits for the artifacts that are not recorded for it', () => {
    const built = {
      ...module('image'),
      next: { version: '2', artifacts: ['image', 'more'].map((name) => partName.parse(name)) },
    };
    const record = (artifact: string, version: string) => ({
      module: moduleName.parse('image'),
      artifact: partName.parse(artifact),
      version,
    });
    const waiting = (...builds: ReturnType<typeof record>[]) =>
      [...pendingBuilds([built, notes], builds, () => '2026-01-01T00:00:00Z')].map(([name, { waitsFor }]) => [
        name,
        waitsFor,
      ]);
    expect(waiting()).toEqual([['image', ['image', 'more']]]);
    expect(waiting(record('image', '2'), record('more', '1'))).toEqual([['image', ['more']]]);
    expect(waiting(record('image', '2'), record('more', '2'))).toEqual([['image', []]]);
  });

  test('[M23] a label that the operator set stands before the manifest’s; without a domain nothing is composed and it is said', () => {
    const labels = [{ ...at('alpha/notes'), listens: partName.parse('http'), label: 'Memos' }];
    expect(read({ inventory, publicDomains, labels }).routes.routes.map(({ name }) => name)).toEqual([
      'Memos.a.example',
    ]);
    const { routes, assignments } = read({ inventory, labels });
    expect(routes.unnamed.map(({ says }) => says)).toEqual([
      'notes on alpha is routed as Memos, and alpha has no public domain: no name is composed',
    ]);
    expect(assignmentPlan.parse(assignments['alpha.notes']).contributes.map((one) => one.collection)).not.toContain(
      'route',
    );
  });

  test('[D5] [P8] a node that cannot be resolved keeps what is there of it; its neighbours go on', () => {
    const broken = mesh({
      nodes: ['alpha', 'beta'],
      modules: [consumer('notes'), vault],
      assigned: ['alpha/notes', 'beta/vault'],
    });
    const made = read({ inventory: broken });
    expect([...made.unresolvable]).toEqual(['alpha']);
    const want = made.mirrors.get(buckets.assignments) ?? new Map<string, string>();
    const have = new Map([
      ['alpha', 'as it was'],
      ['alpha.notes', 'as it was'],
      ['alpha-b.notes', 'of no node'],
      ['beta.gone', 'as it was'],
    ]);
    expect(differenceOf(have, want, isOfNodes(made.unresolvable))).toMatchObject({
      puts: [{ key: 'beta' }, { key: 'beta.vault' }],
      deletes: ['alpha-b.notes', 'beta.gone'],
    });
  });

  test('[P6] [D2] the same inventory in any order makes the same texts', () => {
    const shuffled = mesh({
      ...inventory,
      nodes: inventory.nodes.toReversed(),
      modules: inventory.modules.toReversed(),
      ports: inventory.ports.toReversed(),
      assigned: inventory.assignments.map((one) => `${one.node}/${one.module}`).toReversed(),
    });
    const texts = (of: typeof inventory) =>
      mirrorsOf({ inventory: of, resolution: resolve(of), settings: [], pending: new Map(), publicDomains }).mirrors;
    expect(texts(shuffled)).toEqual(texts(inventory));
  });

  test('[P6] what a difference does makes a bucket what it should be, and there is none the second time', () => {
    const bucket = fc
      .dictionary(fc.constantFrom('a', 'b.c', 'd', 'b.e'), fc.constantFrom('1', '2'))
      .map((all) => new Map(Object.entries(all)));
    fc.assert(
      fc.property(bucket, bucket, (have, want) => {
        const { puts, deletes } = differenceOf(have, want);
        const now = new Map<string, string>(have);
        for (const { key, value } of puts) now.set(key, value);
        for (const key of deletes) now.delete(key);
        expect(now).toEqual(want);
        expect(differenceOf(now, want)).toEqual({ puts: [], deletes: [] });
        expect(puts.every(({ key, value }) => have.get(key) !== value)).toBe(true);
      }),
    );
  });
});
