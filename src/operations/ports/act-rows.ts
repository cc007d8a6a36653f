/** Acts as the store keeps them: it, and not a workflow's memory, says whether a step happened. */
import type { Detail } from './work.ts';

/** preparing: nothing changed yet. committed: there is only forward. The others are ends. */
export type ActStage = 'preparing' | 'committed' | 'closed' | 'abandoned' | 'failed';

export type NewAct = {
  /** The act's own id: the first execution's run id. */
  readonly act: string;
  readonly person: string;
  /** Names the thing that one act at a time may change. */
  readonly workflowId: string;
  readonly kind: string;
  /** The sentence that people see (A12). */
  readonly summary: string;
  /** Names, numbers, digests: never a value, sealed or not (A11). */
  readonly detail?: Detail;
};

export type ActRow = NewAct & {
  readonly stage: ActStage;
  readonly detail: Detail;
  readonly startedAt: Date;
  readonly committedAt?: Date;
  readonly endedAt?: Date;
};

export type ActRows = {
  /** False when that act is there already. `closed`: it ends as it begins. */
  insertAct(act: NewAct, stage?: 'preparing' | 'closed'): Promise<boolean>;
  actRow(act: string): Promise<ActRow | undefined>;
  /** By its own id, or the latest of its workflow's id. */
  actByName(name: string): Promise<ActRow | undefined>;
  /** The act's row, held until the transaction ends, so that settling and committing exclude each other. */
  holdAct(act: string): Promise<ActRow | undefined>;
  /** Adds `detail` to what is kept; sets the times that the stage implies, once. */
  setActStage(act: string, stage: ActStage, detail: Detail): Promise<void>;
  /** The newest first. */
  actRows(which: { readonly limit: number; readonly openOnly?: boolean }): Promise<readonly ActRow[]>;
};

export type CredentialHolder = { readonly credential: string; readonly act: string; readonly workflowId?: string };

/** A1.0: one row a credential, whoever asked. */
export type LockRows = {
  /** Takes those that are free, and answers them; waits for a transaction that is taking the same. */
  insertLocks(act: string, credentials: readonly string[]): Promise<readonly string[]>;
  lockHolders(credentials: readonly string[]): Promise<readonly CredentialHolder[]>;
  /** Those given, or all of the act's; answers how many there were. */
  deleteLocks(act: string, credentials?: readonly string[]): Promise<number>;
};
