/** What is remembered of earlier inventories changes nothing but the time it takes. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compose, type Composition } from '../../../src/domain/declaration/compose.ts';
import type { CatalogueModule, Inventory } from '../../../src/domain/resolution/inventory.ts';
import {
  inventoryOf,
  recordsOf,
  type NodeRecord,
  type NodeRecords,
} from '../../../src/domain/resolution/node-record.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import { nodeName, type NodeName } from '../../../src/domain/words/names.ts';
import {
  at,
  base64,
  binding,
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

const places = ['alpha', 'beta', 'gamma', 'delta'];
const site = (value: string): CatalogueModule =>
  module('site', {
    requires: ['cache'],
    holds: { 'cookie-key': '/etc/site/cookie.key' },
    resources: [{ kind: 'file', path: '/etc/site/value', content: `${value} \${secret:cookie-key}` }],
  });
const cache = (name: string): CatalogueModule =>
  module(name, {
    listens: { tcp: 7000 },
    provides: [{ name: 'cache', scope: 'node' }],
    resources: [{ kind: 'process', name: 'server', command: ['/usr/bin/cache'] }],
  });
const catalogues: readonly (readonly CatalogueModule[])[] = [
  [provider('postgres'), consumer('notes'), consumer('ledger', '/etc/ledger/password'), site('one'), cache('redis')],
  [provider('postgres'), consumer('notes'), consumer('ledger', '/etc/ledger/password'), site('two'), cache('redis')],
  // Two that could answer the same; a provider that grants nothing; a module that is gone.
  [
    provider('postgres', 'postgres-database', { provides: [{ name: 'postgres-database', scope: 'mesh' }] }),
    consumer('notes'),
    site('two'),
  ],
  [provider('postgres'), provider('maria'), consumer('notes'), site('two'), cache('redis'), cache('valkey')],
];

type Change = (records: NodeRecords) => ReadonlyMap<NodeName, NodeRecord>;
type Step = { readonly catalogue?: number; readonly change?: Change };

const empty: NodeRecord = { assigned: [], pins: [], bindings: [], ports: [], ownSecrets: [], pairSecrets: [] };
const some = <Item>(items: readonly Item[]) => fc.constantFrom(...items);
const placed = fc.tuple(some(places), some(['postgres', 'maria', 'notes', 'ledger', 'site', 'redis']));

/** Another record for one node; every other node keeps the one it has. */
function altered(name: string, alter: (record: NodeRecord) => NodeRecord): Change {
  const of = nodeName.parse(name);
  return (records) => new Map([...records, [of, alter(records.get(of) ?? empty)]]);
}

/** The row put in, or taken out where it was. */
function toggled<Row>(rows: readonly Row[], row: Row, isIt: (one: Row) => boolean): readonly Row[] {
  return rows.some(isIt) ? rows.filter((one) => !isIt(one)) : [...rows, row];
}

const changes: readonly fc.Arbitrary<Step>[] = [
  fc.nat(catalogues.length - 1).map((catalogue) => ({ catalogue })),
  placed.map(([name, which]) => ({
    change: altered(name, (record) => {
      const { module: it } = at(`${name}/${which}`);
      return { ...record, assigned: toggled(record.assigned, it, (one) => one === it) };
    }),
  })),
  fc.tuple(some(places), some(places), fc.boolean()).map(([name, to, toModule]) => ({
    change: altered(name, (record) => ({
      ...record,
      pins: toggled(record.pins, pin(name, 'postgres-database', toModule ? `${to}/postgres` : to), () => true),
    })),
  })),
  fc.tuple(some(places), some(['notes', 'ledger']), some(places)).map(([name, which, to]) => ({
    change: altered(name, (record) => {
      const row = binding(`${name}/${which}`, 'postgres-database', `${to}/postgres`);
      return { ...record, bindings: toggled(record.bindings, row, (one) => one.module === row.module) };
    }),
  })),
  fc
    .tuple(placed, some(['sql', 'tcp']), fc.integer({ min: 20_000, max: 20_003 }))
    .map(([[name, which], listens, number]) => ({
      change: altered(name, (record) => {
        const row = port(`${name}/${which}`, listens, number);
        return { ...record, ports: toggled(record.ports, row, (one) => one.module === row.module) };
      }),
    })),
  fc
    .tuple(
      some(places),
      some(['notes', 'ledger']),
      some(places),
      some([1, 2, 3]),
      some(['arriving', 'current', 'leaving'] as const),
    )
    .map(([name, which, to, generation, stage]) => ({
      change: altered(name, (record) => {
        const row = pair(pairKey(`${name}/${which}`, `${to}/postgres`), generation, stage);
        const isIt = (one: typeof row): boolean =>
          one.key.consumerModule === row.key.consumerModule && one.generation === generation;
        return { ...record, pairSecrets: toggled(record.pairSecrets, row, isIt) };
      }),
    })),
  fc.tuple(some(places), some(['one', 'two'])).map(([name, blob]) => ({
    change: altered(name, (record) => {
      const copy = { sealed: base64(blob), fingerprint: `key-of-${name}` };
      const row = own(`${name}/site`, 'cookie-key', { node: copy });
      return {
        ...record,
        ownSecrets: toggled(record.ownSecrets, row, (one) => one.node.sealed === copy.sealed).slice(-1),
      };
    }),
  })),
  fc.tuple(some(places), some(['one.test', 'two.test']), some(['', `'s other key`])).map(([name, address, key]) => ({
    change: altered(name, (record) => ({
      ...record,
      facts: node(name, { address, sealingFingerprint: `key-of-${name}${key}` }),
    })),
  })),
  some(places).map((name) => ({ change: altered(name, ({ facts: _facts, ...record }) => record) })),
  some(places).map((name) => ({ change: (records) => new Map([...records].filter(([one]) => one !== name)) })),
  // The same content read again as another object.
  some(places).map((name) => ({ change: altered(name, (record) => structuredClone(record)) })),
];

/** All that is made of an inventory. */
function madeOf(inventory: Inventory) {
  const resolution = resolve(inventory);
  const compositions = places.map((name) => compose({ inventory, resolution, node: nodeName.parse(name), hash }));
  return { nodes: [...resolution.nodes], asked: [...resolution.asked], compositions: compositions.map(written) };
}

function written(composition: Composition): object {
  return composition.kind === 'composed' ? { ...composition, resources: [...composition.resources] } : composition;
}

/** The same values, and no object of them known to anybody. */
function fromNothing({
  modules,
  nodes,
  assignments,
  pins,
  bindings,
  ports,
  ownSecrets,
  pairSecrets,
}: Inventory): Inventory {
  return structuredClone({ modules, nodes, assignments, pins, bindings, ports, ownSecrets, pairSecrets });
}

const start = mesh({
  nodes: places,
  assigned: ['alpha/notes', 'beta/postgres', 'gamma/ledger', 'delta/site'],
  ports: [port('beta/postgres', 'sql', 20_000), port('delta/redis', 'tcp', 20_001)],
  pairSecrets: [pair(pairKey('alpha/notes', 'beta/postgres')), pair(pairKey('gamma/ledger', 'beta/postgres'))],
  ownSecrets: [own('delta/site', 'cookie-key')],
});

describe('composing again', () => {
  test('[D2] after any changes, one after the other, comes to what composing from nothing comes to, byte for byte', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(...changes), { minLength: 1, maxLength: 25 }), (steps) => {
        let [modules, records] = [catalogues[0] ?? [], recordsOf(start)];
        madeOf(inventoryOf(modules, records));
        for (const { catalogue, change } of steps) {
          modules = catalogue === undefined ? modules : (catalogues[catalogue] ?? modules);
          records = change?.(records) ?? records;
          const inventory = inventoryOf(modules, records);
          const again = madeOf(inventory);
          expect(again).toEqual(madeOf(fromNothing(inventory)));
          expect(madeOf(inventoryOf(modules, records))).toEqual(again);
        }
      }),
      { numRuns: 60 },
    );
  });

  const composedOnes = (before: NodeRecords, after: NodeRecords): number => {
    const modules = [...(catalogues[0] ?? [])];
    let hashed = 0;
    const counting = (text: string): string => {
      if (text.startsWith('{"address"')) hashed += 1;
      return hash(text);
    };
    const all = (records: NodeRecords): void => {
      const inventory = inventoryOf(modules, records);
      const resolution = resolve(inventory);
      for (const name of records.keys()) compose({ inventory, resolution, node: name, hash: counting });
    };
    all(before);
    hashed = 0;
    all(after);
    return hashed;
  };
  const records = recordsOf({ ...start });

  test('[D2] composes nothing when nothing changed', () => {
    expect(composedOnes(records, new Map(records))).toBe(0);
  });

  test('[D2] composes the one node that changed, and both ends of what two nodes share', () => {
    const moved = altered('delta', (record) => ({ ...record, ports: [port('delta/redis', 'tcp', 20_002)] }));
    expect(composedOnes(records, moved(records))).toBe(1);
    const another = altered('alpha', (record) => ({
      ...record,
      pairSecrets: [pair(pairKey('alpha/notes', 'beta/postgres'), 2)],
    }));
    expect(composedOnes(records, another(records))).toBe(2);
    const elsewhere = altered('beta', (record) => ({ ...record, ports: [port('beta/postgres', 'sql', 20_009)] }));
    expect(composedOnes(records, elsewhere(records))).toBe(3);
  });
});
