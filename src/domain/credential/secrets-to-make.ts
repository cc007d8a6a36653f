import type { SecretForm } from '../declaration/declaration.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { Inventory } from '../resolution/inventory.ts';
import type { Resolution } from '../resolution/resolve.ts';
import type { NodeName } from '../words/names.ts';
import type { OwnKey, PairKey } from './credential.ts';

/** A secret that a push must make first, and why. `replaces`: the generation that nobody can open any more (S4). */
export type SecretNeed =
  | {
      readonly kind: 'pair';
      readonly key: PairKey;
      /** As acts and messages name it. */
      readonly path: string;
      readonly form: SecretForm;
      readonly why: 'missing' | 'consumer-key-changed' | 'provider-key-changed';
      readonly replaces?: number;
    }
  | { readonly kind: 'own'; readonly key: OwnKey; readonly path: string; readonly why: 'missing' | 'node-key-changed' };
export type SecretsToMake = { readonly needs: readonly SecretNeed[]; readonly refusals: readonly Refusal[] };

/**
 * The secrets that are missing, or sealed to a key that is not the node's present one (S3, S4, S10), of `nodes` at either end (all
 * nodes when left out). Accepted ones are refused by name instead (S13), and so is what has an end without a key.
 */
export function secretsToMake(
  _inventory: Inventory,
  _resolution: Resolution,
  _nodes?: ReadonlySet<NodeName>,
): SecretsToMake {
  throw new Error('not written yet');
}
