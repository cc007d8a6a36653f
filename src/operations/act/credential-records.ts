/** What acts do to credentials, each in one transaction and idempotent by the act's id (S11, A1.0). Blobs only. */
import { ownPath, pairPath, type OwnKey, type PairSecret } from '../../domain/credential/credential.ts';
import type { ActRow, ActRows, LockRows } from '../ports/act-rows.ts';
import type { NewOwnSecret, NewPairGeneration, PairGeneration, SecretRows } from '../ports/secret-rows.ts';
import { controller, type EventRows, type NewEvent, type Writes } from '../ports/work.ts';
import { heldAct } from './act-records.ts';

type Tx = ActRows & LockRows & SecretRows & EventRows;

/** A generation that an act made: origin `made` unless it says otherwise. */
export type MadePair = Omit<NewPairGeneration, 'origin'>;
export type MadeOwn = Omit<NewOwnSecret, 'origin'>;

/** The credentials' records, over a store. */
export function credentialRecords(store: Writes<Tx>) {
  return {
    /**
     * Takes a lock on each credential, all of them or none (A1.0); answers who holds the first that is taken, by workflow id.
     * @throws when the act has ended: a late attempt leaves no lock behind.
     */
    lock: async (
      act: string,
      paths: readonly string[],
    ): Promise<{ readonly taken: string; readonly by: string } | undefined> => {
      try {
        await store.write(controller, async (tx) => {
          await openAct(tx, act);
          await tx.insertLocks(act, paths);
          const other = (await tx.lockHolders(paths)).find((holder) => holder.act !== act);
          if (other !== undefined) throw new Taken(other.credential, other.workflowId ?? other.act);
        });
        return undefined;
      } catch (error) {
        if (error instanceof Taken) return { taken: error.credential, by: error.by };
        throw error;
      }
    },

    unlock: (act: string): Promise<void> =>
      store.write(controller, async (tx) => {
        await tx.deleteLocks(act);
      }),

    /** The generations this act made, in the stages they are in now: the store's word for how far a rotation got. */
    madeBy: (act: string): Promise<readonly PairSecret[]> => store.write(controller, (tx) => tx.pairSecretsMadeBy(act)),

    /**
     * The commit of a rotation: its generations are there, and what becomes of the older ones, all at once. What an earlier
     * attempt wrote stays, and the values of this attempt are forgotten with its memory. An act that was settled as abandoned
     * writes nothing.
     */
    commit: (act: string, pairs: readonly MadePair[]): Promise<'committed' | 'abandoned'> =>
      store.write(controller, async (tx) => {
        const row = await heldAct(tx, act);
        if (row.committedAt !== undefined) return 'committed';
        if (row.endedAt !== undefined) return 'abandoned';
        const made = await tx.insertPairGenerations(act, pairs.map(asMade));
        // Its locks keep every other act away, so a generation that is there already is nobody's but a bug's.
        if (made.length !== pairs.length)
          throw new Error(`act ${act} found generations of its credentials that it did not make`);
        await tx.setActStage(act, 'committed', {});
        await tx.events([...madeEvents(row, made), { ...byAct(row), kind: 'act-committed', about: row.workflowId }]);
        return 'committed';
      }),

    /**
     * Keeps made secrets that were missing. One that somebody else made meanwhile stays as it is, and one that another act is
     * changing is left to that act (S3). Answers how many were new.
     */
    keep: (act: string, pairs: readonly MadePair[], own: readonly MadeOwn[]): Promise<number> =>
      store.write(controller, async (tx) => {
        const row = await openAct(tx, act);
        const free = await freePairs(tx, act, pairs);
        const made = await tx.insertPairGenerations(act, free.pairs.map(asMade));
        const kept = await tx.putOwnSecrets(act, own.map(asMade));
        await tx.deleteLocks(act, free.taken);
        await tx.events([...madeEvents(row, made), ...ownEvents(row, kept)]);
        return made.length + kept.length;
      }),

    /** The consumers' turn: arriving becomes current and current becomes leaving, in one transaction. */
    handOver: (act: string): Promise<void> =>
      store.write(controller, async (tx) => {
        const row = await heldAct(tx, act);
        const arrived = await tx.handOverPairs(act);
        if (arrived > 0)
          await tx.event({
            ...byAct(row, { credentials: arrived }),
            kind: 'credentials-handed-over',
            about: row.workflowId,
          });
      }),

    /** The old generations of the act's credentials stop being granted. */
    withdrawLeaving: (act: string): Promise<void> =>
      store.write(controller, async (tx) => {
        const row = await heldAct(tx, act);
        const withdrawn = await tx.withdrawLeavingPairs(act);
        await tx.events(withdrawn.map((one) => pairEvent(row, 'credential-withdrawn', one)));
      }),
  };
}

/** Rolls the locks of a refused `lock` back. */
class Taken extends Error {
  readonly credential: string;
  readonly by: string;
  constructor(credential: string, by: string) {
    super(`${credential} is being changed by ${by}`);
    this.credential = credential;
    this.by = by;
  }
}

async function openAct(tx: ActRows, act: string): Promise<ActRow> {
  const row = await heldAct(tx, act);
  if (row.endedAt !== undefined) throw new Error(`act ${act} has ended: it changes nothing more`);
  return row;
}

/** An act that only makes what is missing holds no locks: it takes them for the length of this transaction. */
async function freePairs(
  tx: LockRows,
  act: string,
  pairs: readonly MadePair[],
): Promise<{ pairs: readonly MadePair[]; taken: readonly string[] }> {
  const paths = [...new Set(pairs.map(({ key }) => pairPath(key)))];
  const taken = await tx.insertLocks(act, paths);
  const others = new Set(
    (await tx.lockHolders(paths)).filter((holder) => holder.act !== act).map((holder) => holder.credential),
  );
  return { pairs: pairs.filter(({ key }) => !others.has(pairPath(key))), taken };
}

const asMade = <T>(secret: T): T & { readonly origin: 'made' } => ({ ...secret, origin: 'made' });

function byAct(row: ActRow, detail: Readonly<Record<string, unknown>> = {}): Pick<NewEvent, 'person' | 'detail'> {
  return { person: row.person, detail: { ...detail, act: row.act } };
}
function pairEvent(row: ActRow, kind: string, { key, generation }: PairGeneration): NewEvent {
  return { ...byAct(row, { generation }), kind, about: pairPath(key) };
}
const madeEvents = (row: ActRow, made: readonly PairGeneration[]): NewEvent[] =>
  made.map((one) => pairEvent(row, 'credential-made', one));
const ownEvents = (row: ActRow, kept: readonly OwnKey[]): NewEvent[] =>
  kept.map((key) => ({ ...byAct(row), kind: 'own-secret-made', about: ownPath(key) }));
