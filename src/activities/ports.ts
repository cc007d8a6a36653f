/**
 * What the acts' steps need of the store, the bus and sealing. The worker passes the real ones in; nothing here
 * ever carries a value in the clear: sealing hands out blobs.
 */
import type { OwnKey, PairKey, PairSecret, SealedCopy, Stage } from '../domain/credential/credential.ts';
import type { Envelope } from '../domain/declaration/declaration.ts';
import type { GranterEntry, Outcome } from '../domain/report/report.ts';
import type { Inventory } from '../domain/resolution/inventory.ts';
import type { ModuleName, NodeName, ProvisionName } from '../domain/words/names.ts';

export type SentRow = { readonly digest: string; readonly number: number; readonly streamSequence: number };
export type ReportedRow = {
  readonly outcome: Outcome;
  readonly digest: string | undefined;
  readonly failures: readonly { readonly resource: string; readonly error: string }[];
  readonly refusal: string | undefined;
};
export type NewPair = {
  readonly key: PairKey;
  readonly generation: number;
  readonly stage: Stage;
  /** What becomes of the generations before it, in the same transaction. */
  readonly earlier: 'kept' | 'withdrawn';
  readonly consumer: SealedCopy;
  readonly provider: SealedCopy;
};
export type NewOwn = { readonly key: OwnKey; readonly node: SealedCopy };

export type ActStage = 'preparing' | 'committed' | 'closed' | 'abandoned' | 'failed';
export type ActRow = {
  readonly stage: ActStage;
  readonly detail: Readonly<Record<string, unknown>>;
};

/** Acts' own rows: the store, not a workflow's memory, says whether a step happened. Each call is one transaction. */
export type ActRows = {
  begin(act: { act: string; workflowId: string; kind: string; summary: string; person: string }): Promise<ActRow>;
  read(act: string): Promise<ActRow | undefined>;
  /** Merges into the act's detail. Names, numbers and digests only (A11). */
  note(act: string, detail: Readonly<Record<string, unknown>>): Promise<void>;
  end(act: string, stage: 'closed' | 'failed', detail?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Fences an act that did not commit: afterwards it never can. Answers what is so. */
  settle(act: string): Promise<'committed' | 'abandoned'>;
};

export type CredentialRows = {
  /** All of them or none; answers who holds the first that is taken (A1.0). */
  lock(act: string, paths: readonly string[]): Promise<{ readonly taken: string; readonly by: string } | undefined>;
  unlock(act: string): Promise<void>;
  /** The generations this act made. */
  madeBy(act: string): Promise<readonly PairSecret[]>;
  /** One transaction: the act becomes committed and its generations are there; or it was settled before and nothing happens. */
  commit(act: string, pairs: readonly NewPair[]): Promise<'committed' | 'abandoned'>;
  /** Keeps made secrets that were missing; one that somebody else made meanwhile stays as it is. Answers how many were new. */
  keep(act: string, pairs: readonly NewPair[], own: readonly NewOwn[]): Promise<number>;
  /** arriving → current, and what was current → leaving. */
  handOver(act: string): Promise<void>;
  /** leaving → withdrawn, for the credentials this act made a generation of. */
  withdrawLeaving(act: string): Promise<void>;
};

export type DeclarationRows = {
  /** A number that rises in the order of the snapshots, and the snapshot it belongs to (D4). */
  numbered(): Promise<{ readonly number: number; readonly inventory: Inventory; readonly sent: ReadonlyMap<NodeName, SentRow> }>;
  snapshot(): Promise<{ readonly inventory: Inventory; readonly sent: ReadonlyMap<NodeName, SentRow> }>;
  recordSent(sent: {
    node: NodeName;
    digest: string;
    number: number;
    streamSequence: number;
    resources: ReadonlyMap<string, string>;
  }): Promise<void>;
  sentTo(nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, SentRow>>;
  reportsOf(nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, ReportedRow>>;
  /** What the granters on these nodes last said of the credentials of one provision. */
  granterEntries(
    providers: readonly { node: NodeName; module: ModuleName; provision: ProvisionName }[],
  ): Promise<readonly (GranterEntry & { readonly provider: NodeName; readonly providerModule: ModuleName; readonly provision: ProvisionName })[]>;
  /** The sealing keys of nodes that have joined. */
  sealingKeys(nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, Uint8Array>>;
};

export type DeclarationBus = {
  publish(envelope: Envelope, expectedLastSequence: number): Promise<{ readonly sequence: number } | 'conflict'>;
  last(node: NodeName): Promise<{ readonly envelope: Envelope; readonly sequence: number } | undefined>;
  announceChanged(node: NodeName): Promise<void>;
};

export type Signer = (of: { node: NodeName; number: number; text: string }) => Envelope;
export type Hash = (text: string) => string;

/** Makes one value and seals it to each key; the value lives in that call alone (S2, S22). */
export type SealNew = (publicKeys: readonly Uint8Array[]) => readonly SealedCopy[];

/** Wakes who waits when a node reported. */
export type Wakes = {
  /** Resolves when something was reported after `since`, or after `withinMs`; answers the present count. */
  after(since: number, withinMs: number): Promise<number>;
  now(): number;
};
