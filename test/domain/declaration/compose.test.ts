import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson } from '../../../src/domain/declaration/canonical.ts';
import { declaration, grantList, type Resource } from '../../../src/domain/declaration/declaration.ts';
import type { CatalogueModule, Inventory } from '../../../src/domain/resolution/inventory.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import {
  base64,
  binding,
  composed,
  composing,
  consumer,
  hash,
  mesh,
  module,
  node,
  own,
  pair,
  pairKey,
  pin,
  port,
  provider,
} from '../mesh.ts';

const key = pairKey('alpha/notes', 'beta/postgres');
const files: CatalogueModule['files'] = new Map([
  ['server.mjs', { content: 'serve()', encoding: 'utf8', mode: '0755' }],
]);
const notes = module(
  'notes',
  {
    requires: ['postgres-database'],
    listens: { http: 8080 },
    secrets: { 'postgres-database': { file: '/etc/notes/db.json', as: 'json', owner: 'notes' } },
    binds: { 'postgres-database': '/etc/notes/facts.json' },
    holds: { 'cookie-key': '/etc/notes/cookie.key' },
    capabilities: ['memory'],
    resources: [
      { kind: 'directory', path: '/var/lib/notes', unknown: 'program' },
      { kind: 'file', path: '/opt/notes/server.mjs', from: 'server.mjs' },
      { kind: 'file', path: '/etc/notes/notes.env', content: 'A=1\n', mode: '0600' },
      {
        kind: 'process',
        name: 'notes',
        command: ['node', '/opt/notes/server.mjs'],
        'restart-on': ['/opt/notes/server.mjs', '/etc/notes/notes.env'],
        ready: { port: 'http' },
      },
    ],
  },
  files,
);
const whole: Parameters<typeof mesh>[0] = {
  modules: [provider('postgres'), notes, consumer('ledger', '/etc/ledger/password')],
  assigned: ['alpha/notes', 'beta/postgres', 'gamma/ledger'],
  ports: [port('beta/postgres', 'sql', 20_000), port('alpha/notes', 'http', 20_007)],
  pairSecrets: [pair(key), pair(pairKey('gamma/ledger', 'beta/postgres'))],
  ownSecrets: [own('alpha/notes', 'cookie-key')],
};
const byId = (inventory: Inventory, on: string): Record<string, Resource> =>
  Object.fromEntries(composed(inventory, on).declaration.resources.map((one) => [one.id, one]));
const listOf = (inventory: Inventory, on = 'beta') => {
  const list = byId(inventory, on)['postgres/file/var/lib/postgres-grants/grants.json'];
  return grantList.parse(JSON.parse(list?.kind === 'file' ? list.content : ''));
};

describe('what a node should be', () => {
  test('[D1] a consumer’s declaration holds its manifest’s resources, its credential and the facts beside it', () => {
    const inventory = mesh(whole);
    expect(byId(inventory, 'alpha')).toEqual({
      'notes/directory/var/lib/notes': {
        kind: 'directory',
        id: 'notes/directory/var/lib/notes',
        module: 'notes',
        path: '/var/lib/notes',
        mode: '0755',
        unknown: 'program',
      },
      'notes/file/etc/notes/facts.json': {
        kind: 'file',
        id: 'notes/file/etc/notes/facts.json',
        module: 'notes',
        path: '/etc/notes/facts.json',
        mode: '0644',
        encoding: 'utf8',
        content:
          '{"database":"alpha.notes","host":"beta.test","owner":"alpha.notes","port":20000,"provision":"postgres-database"}\n',
      },
      'notes/file/etc/notes/notes.env': {
        kind: 'file',
        id: 'notes/file/etc/notes/notes.env',
        module: 'notes',
        path: '/etc/notes/notes.env',
        mode: '0600',
        encoding: 'utf8',
        content: 'A=1\n',
      },
      'notes/file/opt/notes/server.mjs': {
        kind: 'file',
        id: 'notes/file/opt/notes/server.mjs',
        module: 'notes',
        path: '/opt/notes/server.mjs',
        mode: '0755',
        encoding: 'utf8',
        content: 'serve()',
      },
      'notes/process/notes': {
        kind: 'process',
        id: 'notes/process/notes',
        module: 'notes',
        name: 'notes',
        command: ['node', '/opt/notes/server.mjs'],
        env: {},
        ports: { http: 20_007 },
        restartOn: ['/etc/notes/notes.env', '/opt/notes/server.mjs'],
        stop: { signal: 'SIGTERM', waitMs: 10_000 },
        ready: { port: 'http' },
      },
      'notes/secret/etc/notes/cookie.key': {
        kind: 'secret',
        id: 'notes/secret/etc/notes/cookie.key',
        module: 'notes',
        path: '/etc/notes/cookie.key',
        mode: '0600',
        form: 'password',
        sealed: base64('own for alpha/notes'),
        fingerprint: 'key-of-alpha',
      },
      'notes/secret/etc/notes/db.json': {
        kind: 'secret',
        id: 'notes/secret/etc/notes/db.json',
        module: 'notes',
        path: '/etc/notes/db.json',
        mode: '0600',
        owner: 'notes',
        form: 'json',
        sealed: base64('1 for alpha'),
        fingerprint: 'key-of-alpha',
        facts: { login: 'alpha.notes_a', host: 'beta.test', port: 20_000, database: 'alpha.notes' },
      },
    });
    expect(composed(inventory, 'alpha').declaration).toMatchObject({
      node: 'alpha',
      address: 'alpha.test',
      capabilities: ['memory'],
      granters: [],
    });
  });

  test('[D1] [S7] a provider’s holds a directory, the list of who is granted what, and a file for each', () => {
    const inventory = mesh(whole);
    expect(Object.keys(byId(inventory, 'beta'))).toEqual([
      'postgres/directory/var/lib/postgres-grants',
      'postgres/file/var/lib/postgres-grants/grants.json',
      'postgres/secret/var/lib/postgres-grants/alpha.notes.1',
      'postgres/secret/var/lib/postgres-grants/gamma.ledger.1',
    ]);
    expect(byId(inventory, 'beta')['postgres/directory/var/lib/postgres-grants']).toMatchObject({
      mode: '0700',
      unknown: 'program',
    });
    expect(byId(inventory, 'beta')['postgres/secret/var/lib/postgres-grants/alpha.notes.1']).toMatchObject({
      mode: '0600',
      form: 'password',
      sealed: base64('1 for beta'),
    });
    expect(listOf(inventory)).toMatchObject({
      provision: 'postgres-database',
      drainMs: 30_000,
      at: { host: 'beta.test', port: 20_000 },
      grants: [
        {
          node: 'alpha',
          module: 'notes',
          generation: 1,
          file: 'alpha.notes.1',
          login: 'alpha.notes_a',
          owner: 'alpha.notes',
          fullName: 'alpha.notes',
          database: 'alpha.notes',
        },
        {
          node: 'gamma',
          module: 'ledger',
          generation: 1,
          file: 'gamma.ledger.1',
          login: 'gamma.ledger_a',
          keepsLogin: true,
        },
      ],
    });
    expect(listOf(inventory).grants[0]).not.toHaveProperty('keepsLogin');
    expect(composed(inventory, 'beta').declaration.granters).toEqual([
      { module: 'postgres', provision: 'postgres-database', status: '/var/lib/postgres-grants.status.json' },
    ]);
  });

  test.each(['alpha', 'beta', 'gamma'])(
    '[D2] the text for %s is the canonical JSON of a declaration that its schema reads',
    (on) => {
      const made = composed(mesh(whole), on);
      expect(made.text).toBe(canonicalJson(made.declaration));
      expect(made.digest).toBe(`sha256:${hash(made.text)}`);
      expect(declaration.parse(JSON.parse(made.text))).toEqual(made.declaration);
      const ids = made.declaration.resources.map((one) => one.id);
      expect(ids).toEqual(ids.toSorted());
      expect(new Set(ids).size).toBe(ids.length);
      expect([...made.resources]).toEqual(made.declaration.resources.map((one) => [one.id, canonicalJson(one)]));
    },
  );

  test('[D2] same inventory, same digest, in whatever order it is read', () => {
    const inventory = mesh(whole);
    const digests = (from: Inventory) => ['alpha', 'beta', 'gamma'].map((on) => composed(from, on).digest);
    const any = <Item>(items: readonly Item[]) => fc.shuffledSubarray([...items], { minLength: items.length });
    fc.assert(
      fc.property(
        any(inventory.nodes),
        any(inventory.modules),
        any(inventory.assignments),
        any(inventory.ports),
        any(inventory.pairSecrets),
        (nodes, modules, assignments, ports, pairSecrets) =>
          expect(digests({ ...inventory, nodes, modules, assignments, ports, pairSecrets })).toEqual(
            digests(inventory),
          ),
      ),
    );
  });

  test('[M6] it says what the node takes from other nodes, provision by provision', () => {
    expect(composed(mesh(whole), 'alpha').takes).toEqual([
      {
        consumer: { node: 'alpha', module: 'notes' },
        provision: 'postgres-database',
        provider: { node: 'beta', module: 'postgres' },
      },
    ]);
    expect(composed(mesh(whole), 'beta').takes).toEqual([]);
  });
});

describe('credentials in a declaration', () => {
  const stages = (...pairs: readonly (readonly [number, 'arriving' | 'current' | 'leaving' | 'withdrawn'])[]) =>
    mesh({ ...whole, pairSecrets: pairs.map(([generation, stage]) => pair(key, generation, stage)) });
  const granted = (inventory: Inventory) =>
    listOf(inventory)
      .grants.filter((one) => one.node === 'alpha')
      .map((one) => [one.generation, one.login]);
  const held = (inventory: Inventory) => {
    const secret = byId(inventory, 'alpha')['notes/secret/etc/notes/db.json'];
    return secret?.kind === 'secret' ? [secret.sealed, secret.facts?.login] : undefined;
  };

  test('[S11] each stage is granted and held as the table of stages says, with the logins in turn', () => {
    const arriving = stages([1, 'current'], [2, 'arriving']);
    expect(granted(arriving)).toEqual([
      [1, 'alpha.notes_a'],
      [2, 'alpha.notes_b'],
    ]);
    expect(held(arriving)).toEqual([base64('1 for alpha'), 'alpha.notes_a']);
    const leaving = stages([1, 'leaving'], [2, 'current']);
    expect(granted(leaving)).toEqual([
      [1, 'alpha.notes_a'],
      [2, 'alpha.notes_b'],
    ]);
    expect(held(leaving)).toEqual([base64('2 for alpha'), 'alpha.notes_b']);
    expect(granted(stages([1, 'withdrawn'], [2, 'current']))).toEqual([[2, 'alpha.notes_b']]);
  });

  test('[S6] the readable facts are byte-identical across a rotation', () => {
    const facts = (inventory: Inventory) =>
      composed(inventory, 'alpha').resources.get('notes/file/etc/notes/facts.json');
    expect(facts(stages([2, 'current']))).toBe(facts(stages([1, 'current'])));
  });

  test('[S6] in the password form the facts name the login, which never changes; locals have their own', () => {
    const locals = module('notes', {
      requires: ['postgres-database'],
      secrets: { 'postgres-database': { app: { file: '/a' }, reports: { file: '/b', as: 'json' } } },
      binds: { 'postgres-database': '/facts' },
    });
    const both = [
      pair(pairKey('alpha/notes', 'beta/postgres', 'postgres-database', 'app'), 2),
      pair(pairKey('alpha/notes', 'beta/postgres', 'postgres-database', 'reports'), 2),
    ];
    const inventory = mesh({
      ...whole,
      modules: [provider('postgres'), locals, consumer('ledger', '/l')],
      pairSecrets: both,
    });
    const facts = byId(inventory, 'alpha')['notes/file/facts'];
    expect(JSON.parse(facts?.kind === 'file' ? facts.content : '')).toEqual({
      provision: 'postgres-database',
      host: 'beta.test',
      port: 20_000,
      locals: {
        app: { owner: 'alpha.notes.app', database: 'alpha.notes.app', login: 'alpha.notes.app_a' },
        reports: { owner: 'alpha.notes.reports', database: 'alpha.notes.reports' },
      },
    });
    expect(listOf(inventory).grants.map((one) => [one.local, one.file, one.login])).toEqual([
      ['app', 'alpha.notes.app.2', 'alpha.notes.app_a'],
      ['reports', 'alpha.notes.reports.2', 'alpha.notes.reports_b'],
    ]);
    expect(byId(inventory, 'alpha')['notes/secret/a']).not.toHaveProperty('facts');
  });

  test('[M14] a consumer that is no longer there is not granted and has no file, though its sealed secret is kept', () => {
    const withdrawn = mesh({ ...whole, assigned: ['beta/postgres', 'gamma/ledger'] });
    expect(listOf(withdrawn).grants.map((one) => one.node)).toEqual(['gamma']);
    expect(Object.keys(byId(withdrawn, 'beta')).filter((id) => id.includes('alpha'))).toEqual([]);
    expect(Object.keys(byId(withdrawn, 'alpha'))).toEqual([]);
    expect(withdrawn.pairSecrets).toHaveLength(2);
  });

  test('[M4] a consumer that was moved by a pin is granted by its new provider alone', () => {
    const moved = mesh({
      ...whole,
      assigned: ['alpha/notes', 'beta/postgres', 'gamma/postgres'],
      ports: [...(whole?.ports ?? []), port('gamma/postgres', 'sql', 20_001)],
      bindings: [binding('alpha/notes', 'postgres-database', 'beta/postgres')],
      pins: [pin('alpha', 'postgres-database', 'gamma')],
      pairSecrets: [pair(key), pair(pairKey('alpha/notes', 'gamma/postgres'))],
    });
    expect(listOf(moved, 'beta').grants).toEqual([]);
    expect(listOf(moved, 'gamma').grants).toHaveLength(1);
  });

  test('[S3] what is not made yet is said, at both ends, and is not in the declaration', () => {
    const inventory = mesh({ ...whole, pairSecrets: [], ownSecrets: [] });
    const made = composed(inventory, 'alpha');
    expect(made.wouldMake.map((need) => [need.path, need.why])).toEqual([
      ['beta/postgres-database/alpha/notes', 'missing'],
      ['alpha/notes/cookie-key', 'missing'],
    ]);
    expect(made.declaration.resources.filter((one) => one.kind === 'secret')).toEqual([]);
    expect(composed(inventory, 'beta').wouldMake.map((need) => need.path)).toEqual([
      'beta/postgres-database/alpha/notes',
      'beta/postgres-database/gamma/ledger',
    ]);
    expect(listOf(inventory).grants).toEqual([]);
  });

  test('[S4] a key that changed is told at both ends, and a consumer’s new key takes nothing from what its provider grants meanwhile', () => {
    const rekeyed = mesh({ ...whole, nodes: [node('alpha', { sealingFingerprint: 'new' }), 'beta', 'gamma'] });
    expect(composed(rekeyed, 'alpha').wouldMake.map((need) => need.why)).toEqual([
      'consumer-key-changed',
      'node-key-changed',
    ]);
    expect(composed(rekeyed, 'beta').wouldMake).toMatchObject([{ why: 'consumer-key-changed', replaces: 1 }]);
    expect(listOf(rekeyed).grants).toHaveLength(2);
  });
});

describe('what cannot be composed', () => {
  const kinds = (inventory: Inventory, on: string) => {
    const made = composing(inventory, on);
    return made.kind === 'unresolvable' ? made.refusals.map((one) => one.kind) : 'composed';
  };

  test('[D5] a node that cannot be resolved says why, and the others are composed', () => {
    const inventory = mesh({ ...whole, assigned: ['alpha/notes', 'gamma/ledger'] });
    expect(kinds(inventory, 'alpha')).toEqual(['no-provider']);
    expect(kinds(inventory, 'beta')).toBe('composed');
    expect(kinds(mesh(), 'ghost')).toEqual(['unknown-node']);
  });

  test('[M17] a port that was not assigned is refused at its own node and where it would be told', () => {
    const inventory = mesh({ ...whole, ports: [port('alpha/notes', 'http', 20_007)] });
    expect(kinds(inventory, 'beta')).toEqual(['port-unassigned']);
    expect(kinds(inventory, 'alpha')).toEqual(['port-unassigned', 'port-unassigned']);
    expect(kinds(inventory, 'gamma')).toBe('composed');
  });

  test('two modules at one path are a clash that names both', () => {
    const at = (name: string, path: string) => module(name, { resources: [{ kind: 'file', path, content: name }] });
    const inventory = mesh({
      modules: [at('one', '/etc/x'), at('two', '/etc/x')],
      assigned: ['alpha/one', 'alpha/two'],
    });
    expect(composing(inventory, 'alpha')).toMatchObject({
      refusals: [{ kind: 'path-clash', what: 'on alpha, /etc/x is declared by one/file/etc/x and by two/file/etc/x' }],
    });
  });

  test('[S13] an accepted secret under a lost key makes its node unresolvable, and never silently drops the grant', () => {
    const lostAtProvider = mesh({
      ...whole,
      nodes: ['alpha', node('beta', { sealingFingerprint: 'new' }), 'gamma'],
      pairSecrets: [pair(key, 1, 'current', { origin: 'accepted' })],
    });
    expect(kinds(lostAtProvider, 'alpha')).toEqual(['secret-accepted']);
    expect(kinds(lostAtProvider, 'beta')).toEqual(['secret-accepted']);
    const lostAtConsumer = mesh({
      ...whole,
      nodes: [node('alpha', { sealingFingerprint: 'new' }), 'beta', 'gamma'],
      pairSecrets: [pair(key, 1, 'current', { origin: 'accepted' })],
    });
    expect(kinds(lostAtConsumer, 'alpha')).toContain('secret-accepted');
    expect(listOf(lostAtConsumer).grants.map((one) => one.node)).toEqual(['alpha']);
  });

  test('a consumer that has not joined is its own node’s trouble', () => {
    const { sealingFingerprint: _, ...invited } = node('alpha');
    const inventory = mesh({ ...whole, nodes: [invited, 'beta', 'gamma'], pairSecrets: [] });
    expect(kinds(inventory, 'alpha')).toEqual(['secret-cannot-be-made', 'secret-cannot-be-made']);
    expect(composed(inventory, 'beta').wouldMake.map((need) => need.path)).toEqual([
      'beta/postgres-database/gamma/ledger',
    ]);
  });

  test('[D4] over 6 MiB it is refused, naming the largest resources', () => {
    const large: CatalogueModule['files'] = new Map([
      ['big', { content: 'é'.repeat(1_700_000), encoding: 'utf8', mode: '0644' }],
    ]);
    const big = (name: string) => module(name, { resources: [{ kind: 'file', path: `/${name}`, from: 'big' }] }, large);
    const one = mesh({ modules: [big('one'), big('two')], assigned: ['alpha/one'] });
    expect(kinds(one, 'alpha')).toBe('composed');
    const two = composing(mesh({ modules: [big('one'), big('two')], assigned: ['alpha/one', 'alpha/two'] }), 'alpha');
    expect(two).toMatchObject({
      refusals: [{ kind: 'declaration-too-large', facts: { largest: ['one/file/one', 'two/file/two'] } }],
    });
  });

  test('one resolution serves every node, and composing changes nothing in it', () => {
    const inventory = mesh(whole);
    const before = JSON.stringify([...resolve(inventory).nodes]);
    composed(inventory, 'alpha');
    expect(JSON.stringify([...resolve(inventory).nodes])).toBe(before);
  });
});
