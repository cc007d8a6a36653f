/** Sealed credentials. No row here holds a value, only blobs and the fingerprints of the keys that open them (S2). */
import type { OwnKey, PairKey, PairSecret, SealedCopy, Stage } from '../../domain/credential/credential.ts';

export type Origin = 'made' | 'accepted';

export type NewPairGeneration = {
  readonly key: PairKey;
  readonly generation: number;
  readonly stage: Stage;
  readonly origin: Origin;
  /** What becomes of the generations before it, in the same transaction. */
  readonly earlier: 'kept' | 'withdrawn';
  readonly consumer: SealedCopy;
  readonly provider: SealedCopy;
  readonly operator?: SealedCopy;
};
export type NewOwnSecret = {
  readonly key: OwnKey;
  readonly origin: Origin;
  readonly node: SealedCopy;
  readonly operator?: SealedCopy;
};
export type PairGeneration = { readonly key: PairKey; readonly generation: number; readonly stage: Stage };

export type PairSecretRow = PairGeneration & {
  readonly origin: Origin;
  readonly consumerFingerprint: string;
  readonly providerFingerprint: string;
  readonly operatorFingerprint?: string;
  readonly madeAt: Date;
};
export type OwnSecretRow = {
  readonly key: OwnKey;
  readonly origin: Origin;
  readonly nodeFingerprint: string;
  readonly operatorFingerprint?: string;
  readonly madeAt: Date;
};

export type SecretRows = {
  /** Earlier generations go as each says; what is there already stays as it is (S3). Answers those that are new. `act`: which made them. */
  insertPairGenerations(
    act: string | undefined,
    generations: readonly NewPairGeneration[],
  ): Promise<readonly PairGeneration[]>;
  /** The highest there is, withdrawn ones included; 0 when there is none. */
  lastGeneration(key: PairKey): Promise<number>;
  /** The generations that this act made. */
  pairSecretsMadeBy(act: string): Promise<readonly PairSecret[]>;
  /** For the credentials of this act: current → leaving, arriving → current. Answers how many arrived. */
  handOverPairs(act: string): Promise<number>;
  /** For the credentials of this act: leaving → withdrawn. Answers those withdrawn. */
  withdrawLeavingPairs(act: string): Promise<readonly PairGeneration[]>;
  /** New ones, and made ones that were sealed to another key; never twice by one act, never an accepted one (S10). Answers which. */
  putOwnSecrets(act: string, secrets: readonly NewOwnSecret[]): Promise<readonly OwnKey[]>;
  /** Takes the place of whatever is there (S12). */
  replaceOwnSecret(secret: NewOwnSecret): Promise<void>;
};
export type SecretReads = {
  /** Every generation, withdrawn ones included. */
  pairSecretRows(): Promise<readonly PairSecretRow[]>;
  ownSecretRows(): Promise<readonly OwnSecretRow[]>;
};
export type BoundReads = {
  /** Those of these whose consumer is bound to their provider. */
  boundPairs(keys: readonly PairKey[]): Promise<readonly PairKey[]>;
};
