import type { SecretNeed } from '../credential/secrets-to-make.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { Inventory } from '../resolution/inventory.ts';
import type { Binding, Resolution } from '../resolution/resolve.ts';
import type { NodeName } from '../words/names.ts';
import type { Declaration } from './declaration.ts';

export type Composition =
  | {
      readonly kind: 'composed';
      readonly declaration: Declaration;
      /** Canonical JSON of the declaration: the envelope's body. */
      readonly text: string;
      /** `sha256:<hex>` of the text. */
      readonly digest: string;
      /** What the node takes from other nodes, provision by provision (M6). */
      readonly takes: readonly Binding[];
      /** Not empty: their files are not in the declaration yet, and it may not be sent (S3). */
      readonly wouldMake: readonly SecretNeed[];
      /** Resource id → its canonical JSON. */
      readonly resources: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'unresolvable'; readonly refusals: readonly Refusal[] };

/** Composes one node's declaration: the one function behind plan, push and every act (D1). `hash`: lower-case hex SHA-256 of a text. */
export function compose(_of: {
  readonly inventory: Inventory;
  readonly resolution: Resolution;
  readonly node: NodeName;
  readonly hash: (text: string) => string;
}): Composition {
  throw new Error('not written yet');
}
