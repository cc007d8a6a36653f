/** Which keys the buckets of bindings' facts may hold: one for each binding that there is, and for each credential with a local name. */
import { boundKeys } from '../../domain/provisioning/keys.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import { resolve, type Binding, type Need } from '../../domain/resolution/resolve.ts';
import { given } from '../../domain/words/given.ts';
import { grouped } from '../../domain/words/grouped.ts';
import type { ModuleName, NodeName } from '../../domain/words/names.ts';

/** A provider's module → the keys of all its consumers, on whichever nodes it runs. `unresolvable`: nodes of which not all is known (D5). */
export function keysOfBindings(inventory: Inventory): {
  readonly keys: ReadonlyMap<ModuleName, ReadonlySet<string>>;
  readonly unresolvable: ReadonlySet<NodeName>;
} {
  const nodes = [...resolve(inventory).nodes.values()];
  const all = nodes.flatMap(({ bindings, needs }) => [...bindings.map(ofBinding), ...needs.map(ofNeed)]);
  return {
    keys: new Map([...grouped(all, ({ provider }) => provider)].map(([of, keys]) => [of, new Set(keys.map(keyIn))])),
    unresolvable: new Set(nodes.flatMap(({ kind, node }) => (kind === 'resolved' ? [] : [node]))),
  };
}

type Key = { readonly provider: ModuleName; readonly key: string };
const keyIn = ({ key }: Key): string => key;

const ofBinding = ({ consumer, provision, provider }: Binding): Key => ({
  provider: provider.module,
  key: boundKeys.of({ ...consumer, provision }),
});
const ofNeed = ({ key }: Need): Key => ({
  provider: key.providerModule,
  key: boundKeys.of({
    node: key.consumerNode,
    module: key.consumerModule,
    provision: key.provision,
    ...given('local', key.local),
  }),
});
