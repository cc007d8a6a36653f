/** What the steps of one apply work on, and where they say what they met. */
import type { SecretResource } from '../../domain/declaration/declaration.ts';
import type { Ledger } from '../ledger.ts';

export type Site = {
  /** The node's root on this machine: `/`, or a folder without a trailing slash. */
  readonly root: string;
  readonly ledger: Ledger;
  /** Every path that the declaration speaks of. */
  readonly declared: ReadonlySet<string>;
  /** The bytes of a secret's file, opened with the node's private key (D9). Whoever asks wipes them after use. */
  openSecret(resource: SecretResource): Uint8Array;
  /** Says what was put right although it had been applied before (D13). */
  drifted(sentence: string): void;
  /** Says what was found that the mesh did not write, and where it is kept (D8). */
  kept(sentence: string): void;
};
