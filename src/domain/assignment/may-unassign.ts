import type { Refusal } from '../refusal/refusal.ts';
import { indexOf } from '../resolution/inventory-index.ts';
import type { Inventory, Pin } from '../resolution/inventory.ts';
import { resolve } from '../resolution/resolve.ts';
import { walk } from '../resolution/walk.ts';
import type { ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';

/**
 * M4: a provider that others are bound to, or pinned to, is not taken away; each is named, and so is what would fall with
 * them. Undefined: it may go. What goes is all that would no longer be on the node: not a module that another one there
 * requires, but also what only this one required.
 */
export function mayUnassign(inventory: Inventory, placed: Placed): Refusal | undefined {
  const { node, module } = placed;
  const lost = lostWith(inventory, placed);
  const isLost = (one: Placed): boolean => one.node === node && lost.has(one.module);
  const bindings = bindingsTo(inventory, isLost);
  const pins = inventory.pins.filter((pin) => isPinnedTo(inventory, pin, node, lost));
  if (bindings.size === 0 && pins.length === 0) return undefined;
  const named = [
    ...[...bindings.values()].map(({ says }) => says),
    ...pins.map((pin) => `${pin.node} is pinned to ${pin.provider.module ?? pin.provider.node} for ${pin.provision}`),
  ];
  const consumers = new Set([...bindings.values()].map(({ consumer }) => placeOf(consumer)));
  const beyond = standingOn(inventory, consumers).filter((place) => place !== placeOf(placed));
  const through = beyond.length === 0 ? '' : `; and through them by ${beyond.map(spoken).join(', ')}`;
  return {
    kind: 'provider-in-use',
    what: `${module} on ${node} is in use: ${named.join(', ')}${through}`,
    why: 'their data is there and would not move along',
    next: [
      ...[...beyond.toReversed(), ...consumers].map((consumer) => `mesh unassign ${consumer.replace('/', ' ')}`),
      ...pins.map((pin) => `mesh unpin ${pin.node} ${pin.provision}`),
    ],
    facts: {
      node,
      module,
      bindings: [...bindings.keys()],
      pins: pins.map((pin) => `${pin.node}/${pin.provision}`),
      ...(beyond.length === 0 ? {} : { throughThem: beyond }),
    },
  };
}

function lostWith(inventory: Inventory, { node, module }: Placed): ReadonlySet<ModuleName> {
  const assignments = inventory.assignments.filter((one) => one.node !== node || one.module !== module);
  const modulesOf = (from: Inventory) => walk(indexOf(from), node).modules.map((one) => one.module);
  const left = new Set(modulesOf({ ...inventory, assignments }));
  return new Set(modulesOf(inventory).filter((one) => !left.has(one)));
}

const placeOf = ({ node, module }: Placed): string => `${node}/${module}`;
const spoken = (place: string): string => place.split('/').toReversed().join(' on ');

/** Assigned modules that take something from these, or from what takes something from these, and so on: the nearest first. */
function standingOn(inventory: Inventory, consumers: ReadonlySet<string>): readonly string[] {
  const assigned = new Set(inventory.assignments.map(placeOf));
  const takers = new Map<string, Set<string>>();
  const takes = (taker: Placed, from: Placed): void => {
    takers.set(placeOf(from), (takers.get(placeOf(from)) ?? new Set()).add(placeOf(taker)));
  };
  for (const { consumer, provider } of allBindings(inventory)) takes(consumer, provider);
  for (const { name: node } of inventory.nodes)
    for (const { module, why } of walk(indexOf(inventory), node).modules)
      for (const one of why) if (one.kind === 'required') takes({ node, module: one.by }, { node, module });
  const reached = new Set(consumers);
  for (const place of reached) for (const taker of takers.get(place) ?? []) reached.add(taker);
  return [...reached].filter((place) => !consumers.has(place) && assigned.has(place));
}

type Taken = { readonly consumer: Placed; readonly provision: ProvisionName; readonly provider: Placed };

/** A binding is recorded only some time after the resolution knows it. */
function allBindings(inventory: Inventory): readonly Taken[] {
  return [
    ...inventory.bindings.map(({ node, module, ...row }) => ({ consumer: { node, module }, ...row })),
    ...[...resolve(inventory).nodes.values()].flatMap(({ bindings }) => bindings),
  ];
}

/** Consumers that stay and are bound to what goes, sorted. */
function bindingsTo(
  inventory: Inventory,
  isLost: (one: Placed) => boolean,
): ReadonlyMap<string, { readonly consumer: Placed; readonly says: string }> {
  const found = allBindings(inventory).flatMap(({ consumer, provision, provider }) => {
    if (!isLost(provider) || isLost(consumer)) return [];
    const says = `${consumer.module} on ${consumer.node} is bound to ${provider.module} for ${provision}`;
    return [[`${placeOf(consumer)}/${provision}`, { consumer, says }] as const];
  });
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
