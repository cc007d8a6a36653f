/** Whose facts a provider's program may write (P2): one key a consumer, provision and local that is bound to it. */
import { boundKeys } from '../../domain/provisioning/keys.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import { given } from '../../domain/words/given.ts';
import type { ModuleName, NodeName } from '../../domain/words/names.ts';

/** The keys of a provider's consumers, sorted; for each binding the plain one, and one for each local name of a credential. */
export function keysOfConsumers(inventory: Inventory, node: NodeName, provider: ModuleName): readonly string[] {
  const keys = [...resolve(inventory).nodes.values()].flatMap(({ bindings, needs }) => [
    ...bindings
      .filter((one) => one.provider.node === node && one.provider.module === provider)
      .map(({ consumer, provision }) => boundKeys.of({ ...consumer, provision })),
    ...needs
      .filter(({ key }) => key.providerNode === node && key.providerModule === provider)
      .map(({ key }) =>
        boundKeys.of({
          node: key.consumerNode,
          module: key.consumerModule,
          provision: key.provision,
          ...given('local', key.local),
        }),
      ),
  ]);
  return [...new Set(keys)].toSorted();
}

/** Modules that provide something to the mesh: each has a bucket for the facts of its bindings. */
export function meshProviders(inventory: Inventory): readonly ModuleName[] {
  return inventory.modules
    .filter(({ manifest }) => manifest.provides.some(({ scope }) => scope === 'mesh'))
    .map(({ manifest }) => manifest.module);
}

/** Undefined where the module is a provider on that node. Refusal: `unknown-assignment`. */
export function notAProvider(inventory: Inventory, node: NodeName, module: ModuleName): Refusal | undefined {
  const resolved = resolve(inventory).nodes.get(node);
  const isThere = resolved?.kind === 'resolved' && resolved.modules.some((one) => one.module === module);
  if (isThere && meshProviders(inventory).includes(module)) return undefined;
  return {
    kind: 'unknown-assignment',
    what: `${module} is no provider on ${node}`,
    why: 'only a program that provides something there writes the facts of its bindings',
    next: [`mesh node show ${node}`],
    facts: { node, module },
  };
}
