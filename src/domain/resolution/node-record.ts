/**
 * The inventory node by node. A record is a value that never changes: whoever reads the inventory again gives the same object for
 * a node of which nothing changed, and what was worked out from it is still good (walk, resolve, compose).
 */
import type { OwnSecret, PairSecret } from '../credential/credential.ts';
import type { ModuleName, NodeName } from '../words/names.ts';
import type { BindingRow, CatalogueModule, Inventory, NodeFacts, Pin, PortRow } from './inventory.ts';

/** All that is recorded of one node. */
export type NodeRecord = {
  /** Absent: rows name the node, and it has none of its own. */
  readonly facts?: NodeFacts;
  readonly assigned: readonly ModuleName[];
  readonly pins: readonly Pin[];
  readonly bindings: readonly BindingRow[];
  readonly ports: readonly PortRow[];
  readonly ownSecrets: readonly OwnSecret[];
  /** Of which it is the consumer's node. */
  readonly pairSecrets: readonly PairSecret[];
};
export type NodeRecords = ReadonlyMap<NodeName, NodeRecord>;

const recordsOfInventories = new WeakMap<Inventory, NodeRecords>();

/** The inventory of these records; its lists are in their order, and each is put together when it is first asked for. */
export function inventoryOf(modules: readonly CatalogueModule[], records: NodeRecords): Inventory {
  const list = <Row>(of: (record: NodeRecord, node: NodeName) => readonly Row[]): (() => readonly Row[]) => {
    let made: readonly Row[] | undefined;
    return () => (made ??= [...records].flatMap(([node, record]) => of(record, node)));
  };
  const nodes = list(({ facts }) => (facts === undefined ? [] : [facts]));
  const assignments = list(({ assigned }, node) => assigned.map((module) => ({ node, module })));
  const pins = list((record) => record.pins);
  const bindings = list((record) => record.bindings);
  const ports = list((record) => record.ports);
  const ownSecrets = list((record) => record.ownSecrets);
  const pairSecrets = list((record) => record.pairSecrets);
  const inventory: Inventory = {
    modules,
    get nodes() {
      return nodes();
    },
    get assignments() {
      return assignments();
    },
    get pins() {
      return pins();
    },
    get bindings() {
      return bindings();
    },
    get ports() {
      return ports();
    },
    get ownSecrets() {
      return ownSecrets();
    },
    get pairSecrets() {
      return pairSecrets();
    },
  };
  recordsOfInventories.set(inventory, records);
  return inventory;
}

/** The records that an inventory was made of, or those of its lists; the same inventory gives the same records. */
export function recordsOf(inventory: Inventory): NodeRecords {
  const known = recordsOfInventories.get(inventory);
  if (known !== undefined) return known;
  const made = recordsOfLists(inventory);
  recordsOfInventories.set(inventory, made);
  return made;
}

function recordsOfLists(inventory: Inventory): NodeRecords {
  const records = new Map<NodeName, Writable>();
  const of = (node: NodeName): Writable => {
    const known = records.get(node);
    if (known !== undefined) return known;
    const made = { assigned: [], pins: [], bindings: [], ports: [], ownSecrets: [], pairSecrets: [] };
    records.set(node, made);
    return made;
  };
  for (const facts of inventory.nodes) of(facts.name).facts = facts;
  for (const { node, module } of inventory.assignments) of(node).assigned.push(module);
  for (const pin of inventory.pins) of(pin.node).pins.push(pin);
  for (const binding of inventory.bindings) of(binding.node).bindings.push(binding);
  for (const port of inventory.ports) of(port.node).ports.push(port);
  for (const secret of inventory.ownSecrets) of(secret.key.node).ownSecrets.push(secret);
  for (const secret of inventory.pairSecrets) of(secret.key.consumerNode).pairSecrets.push(secret);
  return records;
}

type Writable = {
  facts?: NodeFacts;
  assigned: ModuleName[];
  pins: Pin[];
  bindings: BindingRow[];
  ports: PortRow[];
  ownSecrets: OwnSecret[];
  pairSecrets: PairSecret[];
};
