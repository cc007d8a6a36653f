import type { Refusal } from '../refusal/refusal.ts';
import { indexOf } from '../resolution/inventory-index.ts';
import type { Inventory, Pin } from '../resolution/inventory.ts';
import { resolve } from '../resolution/resolve.ts';
import { walk } from '../resolution/walk.ts';
import type { ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';

/**
 * M4: a provider that others are bound to, or pinned to, is not taken away; each is named. Undefined: it may go. What goes is
 * all that would no longer be on the node: not a module that another one there requires, but also what only this one required.
 */
export function mayUnassign(inventory: Inventory, placed: Placed): Refusal | undefined {
  const { node, module } = placed;
  const lost = lostWith(inventory, placed);
  const isLost = (one: Placed): boolean => one.node === node && lost.has(one.module);
  const bindings = bindingsTo(inventory, isLost);
  const pins = inventory.pins.filter((pin) => isPinnedTo(inventory, pin, node, lost));
  if (bindings.size === 0 && pins.length === 0) return undefined;
  const named = [
    ...bindings.values(),
    ...pins.map((pin) => `${pin.node} is pinned to ${pin.provider.module ?? pin.provider.node} for ${pin.provision}`),
  ];
  const consumers = new Set([...bindings.keys()].map((key) => key.split('/').slice(0, 2).join(' ')));
  return {
    kind: 'provider-in-use',
    what: `${module} on ${node} is in use: ${named.join(', ')}`,
    why: 'their data is there and would not move along',
    next: [
      ...[...consumers].map((consumer) => `mesh unassign ${consumer}`),
      ...pins.map((pin) => `mesh unpin ${pin.node} ${pin.provision}`),
    ],
    facts: { node, module, bindings: [...bindings.keys()], pins: pins.map((pin) => `${pin.node}/${pin.provision}`) },
  };
}

function lostWith(inventory: Inventory, { node, module }: Placed): ReadonlySet<ModuleName> {
  const assignments = inventory.assignments.filter((one) => one.node !== node || one.module !== module);
  const modulesOf = (from: Inventory) => walk(indexOf(from), node).modules.map((one) => one.module);
  const left = new Set(modulesOf({ ...inventory, assignments }));
  return new Set(modulesOf(inventory).filter((one) => !left.has(one)));
}

/** Consumers that stay and are bound to what goes, sorted. A binding is recorded only some time after the resolution knows it. */
function bindingsTo(inventory: Inventory, isLost: (one: Placed) => boolean): ReadonlyMap<string, string> {
  const found: (readonly [string, string])[] = [];
  const take = (consumer: Placed, provision: ProvisionName, provider: Placed): void => {
    if (!isLost(provider) || isLost(consumer)) return;
    const key = `${consumer.node}/${consumer.module}/${provision}`;
    found.push([key, `${consumer.module} on ${consumer.node} is bound to ${provider.module} for ${provision}`]);
  };
  for (const row of inventory.bindings) take(row, row.provision, row.provider);
  for (const one of resolve(inventory).nodes.values())
    for (const { consumer, provision, provider } of one.bindings) take(consumer, provision, provider);
  return new Map(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A pin that names no module is at what goes when nothing that stays on the node would answer it. */
function isPinnedTo(inventory: Inventory, pin: Pin, node: NodeName, lost: ReadonlySet<ModuleName>): boolean {
  if (pin.provider.node !== node) return false;
  if (pin.provider.module !== undefined) return lost.has(pin.provider.module);
  const index = indexOf(inventory);
  const answering = walk(index, node)
    .modules.map((one) => one.module)
    .filter((one) => index.meshProviders.get(pin.provision)?.includes(one) === true);
  return answering.length > 0 && answering.every((one) => lost.has(one));
}
