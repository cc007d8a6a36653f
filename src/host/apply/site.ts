/** What the steps of one apply work on, and where they say what they met. */
import type { FileResource, SecretResource } from '../../domain/declaration/declaration.ts';
import type { Ledger } from '../ledger.ts';

/**
 * How a file with placeholders is made on this node: `source` tells of all that is filled in, so that the same is not made
 * twice; `content` throws why it cannot be made. `left`: what was made of this very text stays as it is. `unfillable`: a value is not to be had (P12).
 */
export type Filling =
  | { readonly kind: 'fillable'; readonly source: string; readonly content: () => Promise<Uint8Array> }
  | { readonly kind: 'left'; readonly why: string }
  | { readonly kind: 'unfillable'; readonly reason: string };

/** A file that cannot be made yet, because a value that goes into it is still to come. */
export class Waits extends Error {
  constructor(says: string) {
    super(says);
    this.name = 'Waits';
  }
}

export type Site = {
  /** The node's root on this machine: `/`, or a folder without a trailing slash. */
  readonly root: string;
  readonly ledger: Ledger;
  /** Every path that the declaration speaks of. */
  readonly declared: ReadonlySet<string>;
  /** The bytes of a secret's file, opened with the node's private key (D9). Whoever asks wipes them after use. */
  openSecret(resource: SecretResource): Uint8Array;
  /** How a file with placeholders is filled in. Whoever asks for its content wipes it after use. */
  filling(resource: FileResource): Filling;
  /** Says what was put right although it had been applied before (D13). */
  drifted(sentence: string): void;
  /** Says what was found that the mesh did not write, and where it is kept (D8). */
  kept(sentence: string): void;
};
