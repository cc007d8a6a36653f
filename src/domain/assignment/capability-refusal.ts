import type { Manifest } from '../manifest/manifest.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { NodeFacts } from '../resolution/inventory.ts';

/**
 * M11: what the module needs and the node cannot do, with the node's own reason; undefined when it can. A node that never
 * reported and one that reported nothing of the kind are different answers.
 */
export function capabilityRefusal(
  node: Pick<NodeFacts, 'name' | 'capabilities'>,
  manifest: Manifest,
): Refusal | undefined {
  const { capabilities } = node;
  const missing = manifest.capabilities.flatMap((name) => {
    if (capabilities === undefined) return [{ name, reason: `${node.name} never reported what it can do` }];
    const found = capabilities.find((one) => one.name === name);
    if (found === undefined) return [{ name, reason: `${node.name} reported nothing of it` }];
    return found.present ? [] : [{ name, reason: `${node.name} says: ${found.reason}` }];
  });
  if (missing.length === 0) return undefined;
  return {
    kind: 'capability-missing',
    what: `${manifest.module} needs ${missing.map(({ name, reason }) => `${name} (${reason})`).join(' and ')}`,
    why: 'it could not run there',
    next:
      capabilities === undefined
        ? [`mesh node show ${node.name}`]
        : [`mesh node show ${node.name}`, `mesh assign <another node> ${manifest.module}`],
    facts: { node: node.name, module: manifest.module, capabilities: missing.map(({ name }) => name) },
  };
}
