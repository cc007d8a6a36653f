/** Generations of a credential that its server would not have, and what stands in their place. */
import type { PairKey } from '../../domain/credential/credential.ts';

export type Generation = { readonly key: PairKey; readonly generation: number };

/** A value that goes on under a higher number: numbers only rise, so the newest one is always the one in use. */
export type Reinstated = { readonly key: PairKey; readonly from: number; readonly to: number };

export type RefusedValueRows = {
  /** Whatever stage they are in. */
  withdrawGenerations(generations: readonly Generation[]): Promise<void>;
  /** Withdraws each, and makes the same sealed copies the current ones under another number. */
  reinstateGenerations(moves: readonly Reinstated[]): Promise<void>;
};
