import type { SecretForm } from '../declaration/declaration.ts';
import type { OwnKey, PairKey } from '../credential/credential.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';
import type { Inventory } from './inventory.ts';

/** Why a module is on a node: a person assigned it, or a module there needs a provision of it. */
export type Why =
  | { readonly kind: 'assigned' }
  | { readonly kind: 'required'; readonly by: ModuleName; readonly provision: ProvisionName };
export type ResolvedModule = { readonly module: ModuleName; readonly why: readonly Why[] };
/** A mesh-scoped requirement matched to its provider. */
export type Binding = { readonly consumer: Placed; readonly provision: ProvisionName; readonly provider: Placed };
/** One credential that a consumer needs (M7): for whom, in which form, into which file. */
export type Need = { readonly key: PairKey; readonly form: SecretForm; readonly file: string; readonly owner?: string };
/** One own secret that a module on the node holds (S10). */
export type Hold = { readonly key: OwnKey; readonly file: string; readonly owner?: string };

export type ResolvedNode = {
  readonly kind: 'resolved';
  readonly node: NodeName;
  readonly modules: readonly ResolvedModule[];
  readonly bindings: readonly Binding[];
  readonly needs: readonly Need[];
  readonly holds: readonly Hold[];
};
/** Not sent anything, and not called behind (D5). What could be told stays granted by its providers: they are other nodes. */
export type UnresolvableNode = {
  readonly kind: 'unresolvable';
  readonly node: NodeName;
  readonly refusals: readonly Refusal[];
  readonly bindings: readonly Binding[];
  readonly needs: readonly Need[];
};
export type Resolution = {
  readonly nodes: ReadonlyMap<NodeName, ResolvedNode | UnresolvableNode>;
  /** What a provider node is asked for, by all consumers; sorted by credential. */
  readonly asked: ReadonlyMap<NodeName, readonly Need[]>;
};

/** Resolves every node in two passes (M5): what each offers, then what each takes. One node's failure stays its own (D5). */
export function resolve(_inventory: Inventory): Resolution {
  throw new Error('not written yet');
}
