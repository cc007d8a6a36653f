import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { allocatePorts, assignedRange, type Allocation } from '../../../src/domain/assignment/allocate-ports.ts';
import { capabilityRefusal } from '../../../src/domain/assignment/capability-refusal.ts';
import { claimHeld, claimsOf } from '../../../src/domain/assignment/claims.ts';
import { mayUnassign } from '../../../src/domain/assignment/may-unassign.ts';
import { nothingToRun } from '../../../src/domain/assignment/nothing-to-run.ts';
import { wantedPorts } from '../../../src/domain/assignment/wanted-ports.ts';
import { pinRefusal } from '../../../src/domain/assignment/pin-refusal.ts';
import { isRefusal, type Refusal } from '../../../src/domain/refusal/refusal.ts';
import type { PortRow } from '../../../src/domain/resolution/inventory.ts';
import { at, binding, consumer, mesh, module, node, pin, port, provider } from '../mesh.ts';

describe('[M11] capabilities gate an assignment', () => {
  const { manifest } = module('box', { capabilities: ['container-runtime'] });
  test('[M11] it passes where the node can, and otherwise is refused with the node’s own reason', () => {
    const can = (capabilities: Parameters<typeof node>[1]) => capabilityRefusal(node('alpha', capabilities), manifest);
    expect(
      can({ capabilities: [{ name: 'container-runtime', present: true, detail: { version: '5' } }] }),
    ).toBeUndefined();
    expect(
      can({ capabilities: [{ name: 'container-runtime', present: false, reason: 'no socket at /run/docker.sock' }] })
        ?.what,
    ).toBe('box needs container-runtime (alpha says: no socket at /run/docker.sock)');
  });
  test('[M11] never reported and reported nothing are different answers', () => {
    expect(capabilityRefusal(node('alpha'), manifest)?.what).toContain('alpha never reported what it can do');
    expect(capabilityRefusal(node('alpha', { capabilities: [] }), manifest)?.what).toContain(
      'alpha reported nothing of it',
    );
    expect(capabilityRefusal(node('alpha'), module('plain').manifest)).toBeUndefined();
  });
});

test('[M12] a module that builds and places nothing is refused; one that places, or is computed, is not', () => {
  const builds = { builds: { image: { recipe: 'Dockerfile' } } };
  expect(nothingToRun(module('base', builds).manifest)).toMatchObject({
    kind: 'nothing-to-run',
    facts: { artifacts: ['image'] },
  });
  expect(nothingToRun(module('net', { ...builds, computed: 'private-network' }).manifest)).toBeUndefined();
  expect(
    nothingToRun(module('app', { ...builds, resources: [{ kind: 'file', path: '/a', content: '' }] }).manifest),
  ).toBeUndefined();
  expect(nothingToRun(module('empty').manifest)).toBeUndefined();
});

test('[M13] claims and seats have a place, and the second claimant is told who holds them', () => {
  const { manifest } = module('proxy', {
    claims: [
      { name: 'reverse-proxy', scope: 'node' },
      { name: 'root', scope: 'mesh' },
    ],
    seats: ['the-vault'],
  });
  expect(claimsOf(manifest, at('alpha/proxy').node)).toEqual([
    { name: 'reverse-proxy', place: 'alpha' },
    { name: 'root', place: '*' },
    { name: 'the-vault', place: '*' },
  ]);
  expect(claimHeld({ name: 'the-vault', place: '*' }, at('alpha/proxy'), at('beta/vault'))).toMatchObject({
    kind: 'claim-held',
    what: 'proxy on alpha claims the-vault, which vault on beta holds',
    next: ['mesh unassign beta vault'],
  });
});

describe('ports', () => {
  const listens = (part: object) => module('notes', { listens: part }).manifest.listens;
  const allocate = (
    part: object,
    taken: readonly PortRow[] = [],
    more: Partial<Parameters<typeof allocatePorts>[0]> = {},
  ) => allocatePorts({ placed: at('alpha/notes'), listens: listens(part), taken, carried: [], ...more });
  const rows = (answer: Allocation | Refusal): readonly string[] =>
    isRefusal(answer)
      ? [answer.kind]
      : answer.rows.map((row) => `${row.listens} ${row.protocol} ${row.port}${row.fixed ? ' fixed' : ''}`);

  test('[M17] the lowest free number from 20000 is assigned, the same on tcp and udp for both', () => {
    expect(rows(allocate({ http: 80, dns: { port: 5353, protocol: 'both' } }))).toEqual([
      'http tcp 20000',
      'dns tcp 20001',
      'dns udp 20001',
    ]);
    expect(
      rows(
        allocate({ dns: { port: 5353, protocol: 'both' } }, [port('alpha/other', 'x', 20_000, { protocol: 'udp' })]),
      ),
    ).toEqual(['dns tcp 20001', 'dns udp 20001']);
    expect(rows(allocate({ web: 80 }, [port('alpha/other', 'x', 20_000, { protocol: 'udp' })]))).toEqual([
      'web tcp 20000',
    ]);
  });

  test('[M18] what it has is kept, whatever else became free', () => {
    const answer = allocate({ http: 80, api: 81 }, [port('alpha/notes', 'http', 20_500)]);
    expect(rows(answer)).toEqual(['http tcp 20500', 'api tcp 20000']);
    expect(!isRefusal(answer) && answer.added.map((row) => row.listens)).toEqual(['api']);
  });

  test('[M15] what a new version no longer listens on is dropped, and nothing else', () => {
    const answer = allocate({ http: 80 }, [
      port('alpha/notes', 'http', 20_500),
      port('alpha/notes', 'old', 20_501),
      port('alpha/other', 'old', 20_502),
    ]);
    expect(!isRefusal(answer) && [answer.added, answer.dropped.map((row) => row.port)]).toEqual([[], [20_501]]);
  });

  test('[M19] a fixed port is a claim on node, protocol and number; DNS claims both protocols', () => {
    expect(rows(allocate({ smtp: { port: 25, fixed: true }, dns: { port: 53, fixed: true } }))).toEqual([
      'smtp tcp 25 fixed',
      'dns tcp 53 fixed',
      'dns udp 53 fixed',
    ]);
    const held = allocate({ dns: { port: 53, fixed: true } }, [
      port('alpha/resolver', 'dns', 53, { protocol: 'udp', fixed: true }),
    ]);
    expect(held).toMatchObject({
      kind: 'port-held',
      facts: { holder: 'resolver', protocol: 'udp' },
      next: ['mesh unassign alpha resolver', 'mesh assign <another node> notes'],
    });
    expect(
      rows(
        allocate({ log: { port: 514, fixed: true } }, [
          port('alpha/other', 'log', 514, { protocol: 'udp', fixed: true }),
        ]),
      ),
    ).toEqual(['log tcp 514 fixed']);
  });

  test('[M21] what the node carries is avoided, and a fixed port on it is refused by name', () => {
    const carried = [{ protocol: 'tcp', port: 20_000 } as const, { protocol: 'tcp', port: 5432 } as const];
    expect(rows(allocate({ http: 80 }, [], { carried }))).toEqual(['http tcp 20001']);
    expect(allocate({ sql: { port: 5432, fixed: true } }, [], { carried })).toMatchObject({
      kind: 'port-carried',
      facts: { port: 5432 },
    });
    expect(rows(allocate({ http: 80 }, [port('alpha/notes', 'http', 20_000)], { carried }))).toEqual([
      'http tcp 20001',
    ]);
  });

  test('[M20] the machine’s side of a mapping written the long way is taken, on its own protocol, as it stands', () => {
    const box = (publish: unknown[], part: object = {}) =>
      module('box', { ...part, resources: [{ kind: 'container', name: 'box', image: 'i', publish }] }).manifest;
    const ports = (publish: unknown[], part: object = {}) =>
      wantedPorts(box(publish, part)).map(({ port, protocol, fixed }) => ({ port, protocol, fixed }));
    const tcp = (port: number) => ({ port, protocol: 'tcp', fixed: true });
    expect(ports(['127.0.0.1:8080:80'])).toEqual([tcp(8080)]);
    expect(ports(['[::1]:8081:80/udp'])).toEqual([{ port: 8081, protocol: 'udp', fixed: true }]);
    expect(ports(['8080-8082:80-82'])).toEqual([tcp(8080), tcp(8081), tcp(8082)]);
    expect(ports([80, '127.0.0.1::80'])).toEqual([]);
    // Twice on different addresses, or by one of its own fixed ports: still one port of the machine.
    expect(ports(['127.0.0.1:8080:80', '127.0.0.2:8080:81'])).toEqual([tcp(8080)]);
    expect(ports(['8080:80'], { listens: { http: { port: 8080, fixed: true } } })).toEqual([tcp(8080)]);
    const placed = at('alpha/box');
    const listens = wantedPorts(box(['127.0.0.1:20000:80', 'http'], { listens: { http: 80 } }));
    const taken = [port('alpha/other', 'http', 20_000)];
    expect(allocatePorts({ placed, listens, taken, carried: [] })).toMatchObject({
      kind: 'port-held',
      facts: { port: 20_000, holder: 'other' },
    });
    expect(allocatePorts({ placed, listens, taken: [], carried: [] })).toMatchObject({
      rows: [
        { port: 20_000, fixed: true },
        { listens: 'http', port: 20_001, fixed: false },
      ],
    });
    expect(allocatePorts({ placed, listens, taken: [], carried: [{ protocol: 'tcp', port: 20_000 }] })).toMatchObject({
      kind: 'port-carried',
    });
  });

  test('[M17] none left is refused, saying who holds how many', () => {
    const taken = Array.from({ length: 9998 }, (_, index) =>
      port(index < 9000 ? 'alpha/greedy' : 'alpha/other', `p${index}`, assignedRange.from + index),
    );
    expect(rows(allocate({ a: 1 }, taken, { carried: [{ protocol: 'tcp', port: 29_998 }] }))).toEqual(['a tcp 29999']);
    expect(allocate({ a: 1, b: 2 }, taken, { carried: [{ protocol: 'tcp', port: 29_998 }] })).toMatchObject({
      kind: 'ports-exhausted',
      what: 'no port from 20000 to 29999 of alpha is free for notes; held by greedy 9000, other 998, the node itself 1',
    });
  });

  test('[M17] [M18] [M21] no number is given twice, and asking again changes nothing', () => {
    const wanted = fc.dictionary(
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.record({ port: fc.integer({ min: 1, max: 100 }), protocol: fc.constantFrom('tcp', 'udp', 'both') }),
    );
    const number = fc.integer({ min: 20_000, max: 20_006 });
    const others = fc.uniqueArray(
      fc.record({ protocol: fc.constantFrom('tcp' as const, 'udp' as const), port: number }),
      { selector: (one) => `${one.protocol}${one.port}` },
    );
    fc.assert(
      fc.property(wanted, others, others, (part, taken, carried) => {
        const held = taken.map((one, index) => port('alpha/other', `o${index}`, one.port, { protocol: one.protocol }));
        const answer = allocate(part, held, { carried, range: { from: 20_000, to: 20_009 } });
        if (isRefusal(answer)) return expect(answer.kind).toBe('ports-exhausted');
        const keys = [
          ...held,
          ...answer.rows,
          ...carried.filter((one) => !held.some((row) => row.port === one.port && row.protocol === one.protocol)),
        ].map((row) => `${row.protocol}${row.port}`);
        expect(new Set(keys).size).toBe(keys.length);
        const again = allocate(part, [...held, ...answer.rows], { carried, range: { from: 20_000, to: 20_009 } });
        return expect(!isRefusal(again) && [again.added, again.dropped, new Set(again.rows)]).toEqual([
          [],
          [],
          new Set(answer.rows),
        ]);
      }),
    );
  });
});

describe('[M4] what may be taken away, and what may be pinned', () => {
  const modules = [provider('postgres'), provider('cockroach'), consumer('notes'), consumer('ledger')];
  const inUse = mesh({
    modules,
    assigned: ['alpha/notes', 'alpha/ledger', 'beta/postgres'],
    bindings: [binding('alpha/notes', 'postgres-database', 'beta/postgres')],
  });

  test('[M4] a provider with bindings is not unassigned; each is named, recorded or not', () => {
    expect(mayUnassign(inUse, at('beta/postgres'))).toMatchObject({
      kind: 'provider-in-use',
      facts: { bindings: ['alpha/ledger/postgres-database', 'alpha/notes/postgres-database'] },
      next: ['mesh unassign alpha ledger', 'mesh unassign alpha notes'],
    });
    expect(mayUnassign(inUse, at('alpha/notes'))).toBeUndefined();
    expect(mayUnassign(mesh({ modules, assigned: ['beta/postgres'] }), at('beta/postgres'))).toBeUndefined();
  });

  test('[M4] nor is one that is pinned to, by module or as the only one of its node', () => {
    const pinned = (to: string, assigned: readonly string[]) =>
      mayUnassign(mesh({ modules, assigned, pins: [pin('alpha', 'postgres-database', to)] }), at('beta/postgres'));
    expect(pinned('beta', ['beta/postgres'])).toMatchObject({
      facts: { pins: ['alpha/postgres-database'] },
      next: ['mesh unpin alpha postgres-database'],
    });
    expect(pinned('beta/postgres', ['beta/postgres', 'beta/cockroach'])?.kind).toBe('provider-in-use');
    expect(pinned('beta/cockroach', ['beta/postgres', 'beta/cockroach'])).toBeUndefined();
    expect(pinned('gamma', ['beta/postgres', 'gamma/postgres'])).toBeUndefined();
  });

  test('[M4] [C56] what stands on its consumers, however far, is named with them, and taken off first', () => {
    const api = [{ name: 'alpha-api', scope: 'mesh' }];
    const inventory = mesh({
      modules: [
        provider('shopdb'),
        module('alpha', { requires: ['postgres-database'], provides: api }),
        consumer('beta'),
        module('web', { requires: ['alpha-api'], provides: ['web'] }),
        module('watch', { requires: ['web'] }),
        module('apart'),
      ],
      assigned: ['alpha/shopdb', 'beta/alpha', 'beta/beta', 'gamma/watch', 'gamma/apart'],
    });
    expect(mayUnassign(inventory, at('alpha/shopdb'))).toMatchObject({
      kind: 'provider-in-use',
      what: expect.stringMatching(/alpha on beta .*beta on beta .*through them by watch on gamma$/),
      next: ['mesh unassign gamma watch', 'mesh unassign beta alpha', 'mesh unassign beta beta'],
      facts: { throughThem: ['gamma/watch'] },
    });
    const direct = mesh({ modules: [provider('shopdb'), consumer('beta')], assigned: ['alpha/shopdb', 'beta/beta'] });
    expect(mayUnassign(direct, at('alpha/shopdb'))?.facts).not.toHaveProperty('throughThem');
  });

  test('[M4] a module that stays because another on the node requires it may be unassigned', () => {
    const engine = provider('postgres', 'postgres-database', {
      provides: ['engine', { name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/g' }],
    });
    const bundle = module('bundle', { requires: ['engine'] });
    const inventory = mesh({
      modules: [engine, bundle, consumer('notes')],
      assigned: ['alpha/notes', 'beta/postgres', 'beta/bundle'],
    });
    expect(mayUnassign(inventory, at('beta/postgres'))).toBeUndefined();
    expect(mayUnassign(inventory, at('beta/bundle'))).toBeUndefined();
    const carrying = { ...inventory, assignments: [at('alpha/notes'), at('beta/bundle')] };
    expect(mayUnassign(carrying, at('beta/bundle'))?.what).toBe(
      'bundle on beta is in use: notes on alpha is bound to postgres for postgres-database',
    );
  });

  test('[M4] a pin at what does not provide is refused, and so is one at an unknown node', () => {
    const inventory = mesh({ modules, assigned: ['beta/postgres', 'gamma/postgres', 'gamma/cockroach'] });
    expect(pinRefusal(inventory, pin('alpha', 'postgres-database', 'beta'))).toBeUndefined();
    expect(pinRefusal(inventory, pin('alpha', 'postgres-database', 'alpha'))?.kind).toBe('pin-at-nothing');
    expect(pinRefusal(inventory, pin('alpha', 'postgres-database', 'beta/cockroach'))).toMatchObject({
      kind: 'pin-at-nothing',
      next: ['mesh pin alpha postgres-database beta'],
    });
    expect(pinRefusal(inventory, pin('alpha', 'postgres-database', 'gamma'))?.next).toEqual([
      'mesh pin alpha postgres-database gamma/cockroach',
      'mesh pin alpha postgres-database gamma/postgres',
    ]);
    expect(pinRefusal(inventory, pin('alpha', 'postgres-database', 'ghost'))).toMatchObject({
      kind: 'unknown-node',
      facts: { node: 'ghost' },
    });
  });
});
