/**
 * The inventory by what it is asked for: 1,000 nodes are never searched one for another. All that is asked of a node is asked of
 * its record, so that who asks can be known to have read that record and nothing else.
 */
import type { OwnKey, OwnSecret, PairKey, PairSecret } from '../credential/credential.ts';
import { grouped } from '../words/grouped.ts';
import type { ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';
import { catalogueOf, type Catalogue } from './catalogue.ts';
import type { Inventory, NodeFacts, Pin, PortRow } from './inventory.ts';
import { recordsOf, type NodeRecord } from './node-record.ts';

export type Lookup<Key, Value> = Pick<ReadonlyMap<Key, Value>, 'get' | 'has'>;

export type InventoryIndex = Pick<Catalogue, 'modules' | 'localProviders' | 'meshProviders'> & {
  readonly catalogue: Catalogue;
  readonly record: (node: NodeName) => NodeRecord | undefined;
  readonly nodes: Lookup<NodeName, NodeFacts>;
  /** Sorted by name. */
  readonly assigned: Pick<ReadonlyMap<NodeName, readonly ModuleName[]>, 'get'>;
  readonly pin: (node: NodeName, provision: ProvisionName) => Pin | undefined;
  readonly bound: (consumer: Placed, provision: ProvisionName) => Placed | undefined;
  readonly ports: (placed: Placed) => readonly PortRow[];
  /** Every generation that is not withdrawn, the oldest first. */
  readonly pairs: (key: PairKey) => readonly PairSecret[];
  readonly own: (key: OwnKey) => OwnSecret | undefined;
};

// An inventory is a value and never changes, so what was made of it once is good for as long as it is held.
const indexes = new WeakMap<Inventory, InventoryIndex>();

/** The index of this inventory; the same object gives the same index. */
export function indexOf(inventory: Inventory): InventoryIndex {
  const known = indexes.get(inventory);
  if (known !== undefined) return known;
  const records = recordsOf(inventory);
  const made = indexOver(catalogueOf(inventory.modules), (node) => records.get(node));
  indexes.set(inventory, made);
  return made;
}

/** An index that asks `record` for all that it says of a node, each time it is asked. */
export function indexOver(catalogue: Catalogue, record: InventoryIndex['record']): InventoryIndex {
  const of = (node: NodeName): RecordIndex | undefined => {
    const found = record(node);
    return found && indexOfRecord(found);
  };
  const { modules, localProviders, meshProviders } = catalogue;
  return {
    catalogue,
    record,
    modules,
    localProviders,
    meshProviders,
    nodes: { get: (node) => record(node)?.facts, has: (node) => record(node)?.facts !== undefined },
    assigned: { get: (node) => of(node)?.assigned },
    pin: (node, provision) => of(node)?.pins.get(provision),
    bound: ({ node, module }, provision) => {
      const bindings = of(node)?.bindings;
      // Most nodes have none, and a walk asks for each requirement.
      return bindings === undefined || bindings.size === 0 ? undefined : bindings.get(`${module}/${provision}`);
    },
    ports: ({ node, module }) => of(node)?.ports.get(module) ?? [],
    pairs: (key) => of(key.consumerNode)?.pairs.get(credentialOf(key)) ?? [],
    own: ({ node, module, name }) => of(node)?.own.get(`${module}/${name}`),
  };
}

type RecordIndex = {
  readonly assigned: readonly ModuleName[];
  readonly pins: ReadonlyMap<ProvisionName, Pin>;
  readonly bindings: ReadonlyMap<string, Placed>;
  readonly ports: ReadonlyMap<ModuleName, readonly PortRow[]>;
  readonly pairs: ReadonlyMap<string, readonly PairSecret[]>;
  readonly own: ReadonlyMap<string, OwnSecret>;
};
const recordIndexes = new WeakMap<NodeRecord, RecordIndex>();

function indexOfRecord(record: NodeRecord): RecordIndex {
  const known = recordIndexes.get(record);
  if (known !== undefined) return known;
  const made: RecordIndex = {
    assigned: record.assigned.toSorted(),
    pins: new Map(record.pins.map((pin) => [pin.provision, pin])),
    bindings: new Map(record.bindings.map((row) => [`${row.module}/${row.provision}`, row.provider])),
    ports: grouped(record.ports, (row) => row.module),
    pairs: grouped(
      record.pairSecrets.toSorted((a, b) => a.generation - b.generation),
      (secret) => credentialOf(secret.key),
    ),
    own: new Map(record.ownSecrets.map((secret) => [`${secret.key.module}/${secret.key.name}`, secret])),
  };
  recordIndexes.set(record, made);
  return made;
}

/** All parts of a credential's key but its consumer's node (S1) as one text; no name holds a slash. */
function credentialOf(key: PairKey): string {
  return `${key.provision}/${key.providerNode}/${key.providerModule}/${key.consumerModule}/${key.local ?? ''}`;
}
