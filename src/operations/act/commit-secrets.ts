import { ownPath, pairPath, type PairKey, type PairSecret } from '../../domain/credential/credential.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { ActRows, Acting, LockRows } from '../ports/act-rows.ts';
import type {
  NewOwnSecret,
  NewPairGeneration,
  PairGeneration,
  PairStageChange,
  SecretRows,
} from '../ports/secret-rows.ts';
import type { EventRows, Writes } from '../ports/work.ts';
import { actEnded, credentialsLocked } from './lock-credentials.ts';
import { heldAct } from './start-act.ts';

export type SecretsToCommit = {
  /** New generations, and what becomes of older ones of the same credentials; both at once. */
  readonly pairs: readonly NewPairGeneration[];
  readonly stages: readonly PairStageChange[];
  readonly own: readonly NewOwnSecret[];
  /** A rotation of own secrets replaces those that are there; otherwise only what opens under no present key is (S10). */
  readonly replaceOwn?: boolean;
};
export type CommittedSecrets = {
  /** already: an earlier attempt of this act had done all of it. */
  readonly answer: 'committed' | 'already';
  /** How many this attempt made. Fewer than asked when another push had made them meanwhile: its ones stand (S3). */
  readonly made: number;
};

/**
 * The commit of an act: new generations and the stages of the old ones in one transaction (S11). Idempotent by act: what an
 * earlier attempt wrote stays, and the values of this attempt are forgotten with its memory. Refused when another act holds
 * one of the credentials, or when the act was settled as abandoned; nothing is written then.
 */
export function commitSecrets(
  store: Writes<ActRows & LockRows & SecretRows & EventRows>,
  { act, person }: Acting,
  secrets: SecretsToCommit,
): Promise<CommittedSecrets | Refusal> {
  return store.write(person, async (tx) => {
    const row = await heldAct(tx, act);
    if (row.endedAt !== undefined) return actEnded(row.workflowId);

    const before = new Set((await tx.pairSecretsMadeBy(act)).map(({ key }) => credential(key)));
    const isNew = ({ key }: { readonly key: PairKey }): boolean => !before.has(credential(key));
    const pairs = secrets.pairs.filter(isNew);
    const stages = secrets.stages.filter(isNew);

    // An act that only makes what was missing holds no locks; it takes them for the length of this transaction.
    const paths = [...new Set([...pairs, ...stages].map(({ key }) => pairPath(key)))];
    const taken = await tx.insertLocks(act, paths);
    const others = (await tx.lockHolders(paths)).filter((holder) => holder.act !== act);
    if (others.length > 0) return credentialsLocked(others);

    await tx.changePairStages(stages);
    const made = await tx.insertPairGenerations(act, pairs);
    const own = await tx.putOwnSecrets(act, secrets.own, secrets.replaceOwn ?? false);
    await tx.deleteLocks(act, taken);
    await tx.events([
      ...made.map(({ key, generation }) => ({
        kind: 'credential-made',
        about: pairPath(key),
        detail: { act, generation },
      })),
      ...own.map((key) => ({ kind: 'own-secret-made', about: ownPath(key), detail: { act } })),
    ]);
    if (row.stage === 'preparing') await tx.setActStage(act, 'committed', {});
    const nothingNew = pairs.length === 0 && own.length === 0 && before.size > 0;
    return { answer: nothingNew ? 'already' : 'committed', made: made.length + own.length };
  });
}

/** What the act made, in the stages they are in now: the store's word for how far a rotation got. */
export function secretsOf(store: Writes<SecretRows>, { act, person }: Acting): Promise<readonly PairSecret[]> {
  return store.write(person, (tx) => tx.pairSecretsMadeBy(act));
}

/** Every generation that is not withdrawn of the credentials that the act changes: old ones beside the new. */
export function credentialsOf(store: Writes<SecretRows>, { act, person }: Acting): Promise<readonly PairSecret[]> {
  return store.write(person, (tx) => tx.pairSecretsBesides(act));
}

/** The consumers' turn: arriving becomes current and current becomes leaving, in one transaction. Idempotent; answers how many. */
export function handOver(store: Writes<SecretRows & EventRows>, { act, person }: Acting): Promise<number> {
  return store.write(person, async (tx) => {
    const arrived = await tx.handOverPairs(act);
    if (arrived > 0) await tx.event({ kind: 'credentials-handed-over', about: act, detail: { credentials: arrived } });
    return arrived;
  });
}

/** The old generations of the act's credentials stop being granted. Idempotent; answers those this call withdrew. */
export function withdrawLeaving(
  store: Writes<SecretRows & EventRows>,
  { act, person }: Acting,
): Promise<readonly PairGeneration[]> {
  return store.write(person, async (tx) => {
    const withdrawn = await tx.withdrawLeavingPairs(act);
    await tx.events(
      withdrawn.map(({ key, generation }) => ({
        kind: 'credential-withdrawn',
        about: pairPath(key),
        detail: { act, generation },
      })),
    );
    return withdrawn;
  });
}

const credential = (key: PairKey): string => `${key.providerModule}@${pairPath(key)}`;
