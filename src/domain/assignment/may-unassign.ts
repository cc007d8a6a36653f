import type { Refusal } from '../refusal/refusal.ts';
import { indexOf } from '../resolution/inventory-index.ts';
import type { Inventory, Pin } from '../resolution/inventory.ts';
import { resolve } from '../resolution/resolve.ts';
import type { Placed, ProvisionName } from '../words/names.ts';

/**
 * M4: a provider that others are bound to, or pinned to, is not taken away; each is named. Undefined: it may go. A module that
 * another one on the node requires stays there anyway, so nothing is lost by unassigning it.
 */
export function mayUnassign(inventory: Inventory, placed: Placed): Refusal | undefined {
  const { node, module } = placed;
  const isIt = (one: Placed): boolean => one.node === node && one.module === module;
  const without = resolve({ ...inventory, assignments: inventory.assignments.filter((one) => !isIt(one)) }).nodes.get(
    node,
  );
  if (without?.kind === 'resolved' && without.modules.some((one) => one.module === module)) return undefined;
  const bindings = new Map<string, string>();
  const bind = (consumer: Placed, provision: ProvisionName): void => {
    if (!isIt(consumer))
      bindings.set(
        `${consumer.node}/${consumer.module}/${provision}`,
        `${consumer.module} on ${consumer.node} is bound to it for ${provision}`,
      );
  };
  for (const row of inventory.bindings) if (isIt(row.provider)) bind(row, row.provision);
  // A binding is recorded after it was first made use of; until then only the resolution knows it.
  for (const one of resolve(inventory).nodes.values())
    for (const { consumer, provision, provider } of one.bindings) if (isIt(provider)) bind(consumer, provision);
  const pins = inventory.pins.filter((pin) => isPinnedTo(inventory, pin, placed));
  if (bindings.size === 0 && pins.length === 0) return undefined;
  const named = [
    ...[...bindings.keys()].toSorted().map((key) => bindings.get(key) ?? key),
    ...pins.map((pin) => `${pin.node} is pinned to it for ${pin.provision}`),
  ];
  return {
    kind: 'provider-in-use',
    what: `${module} on ${node} is in use: ${named.join(', ')}`,
    why: 'their data is there and would not move along',
    next: [
      ...[...bindings.keys()].toSorted().map((key) => `mesh unassign ${key.split('/').slice(0, 2).join(' ')}`),
      ...pins.map((pin) => `mesh unpin ${pin.node} ${pin.provision}`),
    ],
    facts: {
      node,
      module,
      bindings: [...bindings.keys()].toSorted(),
      pins: pins.map((pin) => `${pin.node}/${pin.provision}`),
    },
  };
}

/** A pin that names no module is at this one when no other module of the node would answer it. */
function isPinnedTo(inventory: Inventory, pin: Pin, { node, module }: Placed): boolean {
  if (pin.provider.node !== node) return false;
  if (pin.provider.module !== undefined) return pin.provider.module === module;
  const answering = indexOf(inventory).meshProviders.get(pin.provision) ?? [];
  const here = new Set(indexOf(inventory).assigned.get(node));
  return answering.includes(module) && !answering.some((other) => other !== module && here.has(other));
}
