/**
 * What the acts' steps need: the store's records, the bus, sealing and being woken. The worker passes the real ones in;
 * nothing here carries a value in the clear, since sealing hands out blobs alone.
 */
import type { SealedCopy } from '../domain/credential/credential.ts';
import type { Envelope } from '../domain/declaration/declaration.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { actRecords } from '../operations/act/act-records.ts';
import type { credentialRecords } from '../operations/act/credential-records.ts';
import type { declarationRecords } from '../operations/act/declaration-records.ts';

/** The store, not a workflow's memory, says whether a step happened; each call is one transaction. */
export type ActRecords = ReturnType<typeof actRecords>;
export type CredentialRecords = ReturnType<typeof credentialRecords>;
export type DeclarationRecords = ReturnType<typeof declarationRecords>;

export type DeclarationBus = {
  /** Conflict: the subject's last message is not the one that was expected (D4). */
  publish(envelope: Envelope, expectedLastSequence: number): Promise<{ readonly sequence: number } | 'conflict'>;
  /** `envelope` is absent when nobody can read the message. */
  last(node: NodeName): Promise<{ readonly envelope: Envelope | undefined; readonly sequence: number } | undefined>;
  announceChanged(node: NodeName): Promise<void>;
  /** Those of these nodes whose subject holds a message now: what was sent may have been purged since (C76). */
  held(nodes: readonly NodeName[]): Promise<ReadonlySet<NodeName>>;
};

/** Signs what a node should be (D3). `text` is the declaration's canonical JSON. */
export type Signer = (of: { node: NodeName; number: number; text: string }) => Promise<Envelope>;

/** Lower-case hex SHA-256. */
export type Hash = (text: string) => string;

/** Makes one value and seals it to each key, in their order; the value lives in that call alone (S2, S22). */
export type SealNew = (publicKeys: readonly Uint8Array[]) => readonly SealedCopy[];

/** Wakes who waits when a node reported. */
export type Wakes = {
  /** How often something was reported so far. */
  now(): number;
  /** Resolves when more than `since` was reported, or after `withinMs`. */
  after(since: number, withinMs: number): Promise<void>;
};
