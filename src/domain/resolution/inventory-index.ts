/** The inventory by what it is asked for, built once a snapshot: 1,000 nodes are never searched one for another. */
import type { OwnKey, OwnSecret, PairKey, PairSecret } from '../credential/credential.ts';
import type { Provides } from '../manifest/manifest.ts';
import { grouped } from '../words/grouped.ts';
import type { ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';
import type { CatalogueModule, Inventory, NodeFacts, Pin, PortRow } from './inventory.ts';

export type InventoryIndex = {
  readonly nodes: ReadonlyMap<NodeName, NodeFacts>;
  readonly modules: ReadonlyMap<ModuleName, CatalogueModule>;
  /** Sorted by name. */
  readonly assigned: ReadonlyMap<NodeName, readonly ModuleName[]>;
  /** Modules of the catalogue that provide a provision of that scope, sorted by name. */
  readonly localProviders: ReadonlyMap<ProvisionName, readonly ModuleName[]>;
  readonly meshProviders: ReadonlyMap<ProvisionName, readonly ModuleName[]>;
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
  const made = build(inventory);
  indexes.set(inventory, made);
  return made;
}

function build(inventory: Inventory): InventoryIndex {
  const pins = new Map(inventory.pins.map((pin) => [`${pin.node}/${pin.provision}`, pin]));
  const bindings = new Map(
    inventory.bindings.map((row) => [`${row.node}/${row.module}/${row.provision}`, row.provider]),
  );
  const ports = grouped(inventory.ports, (row) => `${row.node}/${row.module}`);
  const pairs = grouped(
    inventory.pairSecrets.toSorted((a, b) => a.generation - b.generation),
    (secret) => credentialOf(secret.key),
  );
  const own = new Map(inventory.ownSecrets.map((secret) => [ownOf(secret.key), secret]));
  const assignments = grouped(inventory.assignments, (one) => one.node);
  return {
    nodes: new Map(inventory.nodes.map((node) => [node.name, node])),
    modules: new Map(inventory.modules.map((module) => [module.manifest.module, module])),
    assigned: new Map([...assignments].map(([node, placed]) => [node, placed.map((one) => one.module).toSorted()])),
    localProviders: providersOf(inventory, 'node'),
    meshProviders: providersOf(inventory, 'mesh'),
    pin: (node, provision) => pins.get(`${node}/${provision}`),
    bound: (consumer, provision) => bindings.get(`${consumer.node}/${consumer.module}/${provision}`),
    ports: (placed) => ports.get(`${placed.node}/${placed.module}`) ?? [],
    pairs: (key) => pairs.get(credentialOf(key)) ?? [],
    own: (key) => own.get(ownOf(key)),
  };
}

function providersOf(
  inventory: Inventory,
  scope: Provides['scope'],
): ReadonlyMap<ProvisionName, readonly ModuleName[]> {
  const offers = inventory.modules.flatMap(({ manifest }) =>
    manifest.provides
      .filter((one) => one.scope === scope)
      .map((one) => ({ provision: one.name, module: manifest.module })),
  );
  return new Map(
    [...grouped(offers, (one) => one.provision)].map(([provision, those]) => [
      provision,
      those.map((one) => one.module).toSorted(),
    ]),
  );
}

/** All six parts of a credential's key (S1) as one text; no name holds a slash. */
function credentialOf(key: PairKey): string {
  return `${key.provision}/${key.providerNode}/${key.providerModule}/${key.consumerNode}/${key.consumerModule}/${key.local ?? ''}`;
}
const ownOf = (key: OwnKey): string => `${key.node}/${key.module}/${key.name}`;
