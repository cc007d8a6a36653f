import type { Refusal } from '../refusal/refusal.ts';
import { pinCommands } from '../resolution/bind.ts';
import { indexOf } from '../resolution/inventory-index.ts';
import type { Inventory, Pin } from '../resolution/inventory.ts';
import { walk } from '../resolution/walk.ts';
import type { ModuleName, NodeName } from '../words/names.ts';

/** M4: why this pin may not be made; undefined when it may. Refusals: `unknown-node`, `pin-at-nothing`, `ambiguous-provider`. */
export function pinRefusal(inventory: Inventory, pin: Pin): Refusal | undefined {
  const index = indexOf(inventory);
  const unknown = [pin.node, pin.provider.node].find((node) => !index.nodes.has(node));
  if (unknown !== undefined)
    return {
      kind: 'unknown-node',
      what: `there is no node ${unknown}`,
      why: 'a pin is from one node to another',
      next: ['mesh node list'],
      facts: { node: unknown },
    };
  const { node, module } = pin.provider;
  const there = walk(index, node).modules.map((one) => one.module);
  const answering = there.filter((one) => index.meshProviders.get(pin.provision)?.includes(one) === true);
  if (module !== undefined)
    return answering.includes(module) ? undefined : atNothing(pin, `${module} on ${node}`, answering);
  const [only, second] = answering;
  if (only === undefined) return atNothing(pin, node, []);
  if (second === undefined) return undefined;
  return {
    kind: 'ambiguous-provider',
    what: `${answering.join(' and ')} on ${node} both provide ${pin.provision}`,
    why: 'a pin says where data lives, so it says it in full',
    next: pinCommands(pin.node, pin.provision, placedAt(node, answering)),
    facts: { node: pin.node, provision: pin.provision, candidates: answering },
  };
}

const placedAt = (node: NodeName, modules: readonly ModuleName[]) => modules.map((module) => ({ node, module }));

function atNothing(pin: Pin, at: string, instead: readonly ModuleName[]): Refusal {
  return {
    kind: 'pin-at-nothing',
    what: `${at} does not provide ${pin.provision}`,
    why: 'a pin at what does not provide would leave its node without a provider: a pin never falls back',
    next:
      instead.length > 0
        ? pinCommands(pin.node, pin.provision, placedAt(pin.provider.node, instead))
        : [`mesh assign ${pin.provider.node} <a module that provides ${pin.provision}>`],
    facts: { node: pin.node, provision: pin.provision, pinnedTo: at },
  };
}
