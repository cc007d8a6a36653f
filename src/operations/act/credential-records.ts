/** What acts do to credentials, each in one transaction and idempotent by the act's id (S11, A1.0). Blobs only. */
import type { GranterFault } from '../../domain/act/waiting.ts';
import { ownPath, pairPath, type OwnKey, type PairKey, type PairSecret } from '../../domain/credential/credential.ts';
import type { GranterEntry } from '../../domain/report/report.ts';
import type { ModuleName, NodeName, ProvisionName } from '../../domain/words/names.ts';
import type { ActRow, ActRows, LockRows, NewAct } from '../ports/act-rows.ts';
import type { GranterRow, ReportReads, ReportRow, SentReads, SentRow } from '../ports/declaration-rows.ts';
import type { SealingKeyReads } from '../ports/node-rows.ts';
import type { BoundReads, NewOwnSecret, NewPairGeneration, PairGeneration, SecretRows } from '../ports/secret-rows.ts';
import { controller, type Detail, type EventRows, type NewEvent, type Reads, type Writes } from '../ports/work.ts';
import { heldAct, settledIn, startOf } from './act-records.ts';
import { faultsOf } from './granter-faults.ts';

type Tx = ActRows & LockRows & SecretRows & SealingKeyReads & EventRows;
type View = SentReads & ReportReads & BoundReads;

/** A generation that an act made: origin `made` unless it says otherwise. */
export type MadePair = Omit<NewPairGeneration, 'origin'>;
export type MadeOwn = Omit<NewOwnSecret, 'origin'>;

/** Makes the generations of an act, sealed to the keys that it asks for; called within the transaction that keeps them, perhaps again. */
export type MakePairs = (
  act: ActRow,
  sealingKeys: (nodes: readonly NodeName[]) => Promise<ReadonlyMap<NodeName, Uint8Array>>,
) => Promise<readonly MadePair[]>;

/** A provider whose granter is asked about. */
export type GrantsOf = { readonly node: NodeName; readonly module: ModuleName; readonly provision: ProvisionName };
/** A granter's word about one login, with whose word it is. */
export type GrantEntry = GranterEntry & {
  readonly provider: NodeName;
  readonly providerModule: ModuleName;
  readonly provision: ProvisionName;
};

/** Both ends of credentials, at one moment. */
export type Ends = {
  readonly sent: ReadonlyMap<NodeName, SentRow>;
  readonly reports: ReadonlyMap<NodeName, ReportRow>;
  readonly entries: readonly GrantEntry[];
  readonly faults: readonly GranterFault[];
};

/** The credentials' records, over a store. */
export function credentialRecords(store: Writes<Tx> & Reads<View>) {
  return {
    /**
     * Begins an act, takes a lock on each credential and writes down what it is about, all of it or nothing (A1.0). Answers what
     * is written down, which is what an earlier attempt wrote where there was one; or who holds the first credential that is
     * taken, by workflow id.
     * @throws when the act has ended: a late attempt leaves no lock behind.
     */
    lock: async (
      act: NewAct,
      paths: readonly string[],
      about: Detail,
    ): Promise<{ readonly about: Detail } | { readonly taken: string; readonly by: string }> => {
      try {
        return await store.write(act.person, async (tx) => {
          // Sent in a row: what is not to be is rolled back with all of it.
          const [isNew, row, , holders] = await Promise.all([
            tx.insertAct(act),
            heldAct(tx, act.act),
            tx.insertLocks(act.act, paths),
            tx.lockHolders(paths),
          ]);
          stillOpen(row);
          const other = holders.find((holder) => holder.act !== act.act);
          if (other !== undefined) throw new Taken(other.credential, other.workflowId ?? other.act);
          const detail = { ...about, ...row.detail };
          await Promise.all([tx.setActStage(act.act, row.stage, detail), tx.events(isNew ? [startOf(act)] : [])]);
          return { about: detail };
        });
      } catch (error) {
        if (error instanceof Taken) return { taken: error.credential, by: error.by };
        throw error;
      }
    },

    /** The generations this act made, in the stages they are in now: the store's word for how far a rotation got. */
    madeBy: (act: string): Promise<readonly PairSecret[]> => store.write(controller, (tx) => tx.pairSecretsMadeBy(act)),

    /**
     * The commit of a rotation: its generations are there, and what becomes of the older ones, all at once. What an earlier
     * attempt wrote stays, and the values of this attempt are forgotten with its memory. An act that was settled as abandoned
     * writes nothing, and so does one that finds generations which it did not make: it is abandoned.
     */
    commit: async (act: string, make: MakePairs): Promise<'committed' | 'abandoned'> => {
      try {
        return await store.write(controller, async (tx) => {
          const row = await heldAct(tx, act);
          if (row.committedAt !== undefined) return 'committed';
          if (row.endedAt !== undefined) return 'abandoned';
          const pairs = await make(row, (nodes) => tx.sealingKeys(nodes));
          const committed = { ...byAct(row), kind: 'act-committed', about: row.workflowId };
          const [made] = await Promise.all([
            tx.insertPairGenerations(act, pairs.map(asMade)),
            tx.setActStage(act, 'committed', {}),
            tx.events([...madeEvents(row, pairs), committed]),
          ]);
          if (made.length !== pairs.length) throw new Overtaken();
          return 'committed';
        });
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error;
        return store.write(controller, (tx) => settledIn(tx, act));
      }
    },

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

    /**
     * The consumers' turn: arriving becomes current and current becomes leaving, in one transaction. `noted` is written down,
     * unless an earlier attempt did. Answers the act as it now is.
     */
    handOver: (act: string, noted: Detail): Promise<ActRow> =>
      store.write(controller, async (tx) => {
        const [row, arrived] = await Promise.all([heldAct(tx, act), tx.handOverPairs(act)]);
        const handedOver = { kind: 'credentials-handed-over', about: row.workflowId };
        const [after] = await Promise.all([
          noteOnce(tx, row, noted),
          tx.events(arrived > 0 ? [{ ...byAct(row, { credentials: arrived }), ...handedOver }] : []),
        ]);
        return after;
      }),

    /** The old generations of the act's credentials stop being granted. `noted` and the answer: as for `handOver`. */
    withdrawLeaving: (act: string, noted: Detail): Promise<ActRow> =>
      store.write(controller, async (tx) => {
        const [row, withdrawn] = await Promise.all([heldAct(tx, act), tx.withdrawLeavingPairs(act)]);
        const [after] = await Promise.all([
          noteOnce(tx, row, noted),
          tx.events(withdrawn.map((one) => pairEvent(row, 'credential-withdrawn', one))),
        ]);
        return after;
      }),

    /** What was last sent to these nodes, what they last said of it, and what the granters of these providers last said. */
    ends: (nodes: readonly NodeName[], providers: readonly GrantsOf[]): Promise<Ends> =>
      store.read(async (view) => {
        const [sent, reports, granters] = await Promise.all([
          view.sentRows(nodes),
          view.reportRows(nodes),
          view.granterRows([...new Set(providers.map(({ node }) => node))]),
        ]);
        return {
          sent: byNode(sent),
          reports: byNode(reports),
          entries: entriesOf(granters, providers),
          faults: faultsOf(granters),
        };
      }),

    /** Those of these credentials whose consumer is still bound to their provider; read by their keys alone. */
    bound: (keys: readonly PairKey[]): Promise<ReadonlySet<string>> =>
      store.read(async (view) => new Set((await view.boundPairs(keys)).map(pairPath))),
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

/**
 * Rolls the commit back: after the act had looked at its credentials, and before it locked them, somebody handed a value over for
 * one, or a push made one. What it decided is not about the world as it is (S13).
 */
class Overtaken extends Error {}

async function openAct(tx: ActRows, act: string): Promise<ActRow> {
  return stillOpen(await heldAct(tx, act));
}
function stillOpen(row: ActRow): ActRow {
  if (row.endedAt !== undefined) throw new Error(`act ${row.act} has ended: it changes nothing more`);
  return row;
}

/** What an earlier attempt wrote stands; and an act that does the next thing waits for nothing. */
async function noteOnce(tx: ActRows, row: ActRow, noted: Detail): Promise<ActRow> {
  const detail = { ...noted, ...row.detail, waitsFor: [] };
  await tx.setActStage(row.act, row.stage, detail);
  return { ...row, detail };
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
const byNode = <Row extends { readonly node: NodeName }>(rows: readonly Row[]): ReadonlyMap<NodeName, Row> =>
  new Map(rows.map((row) => [row.node, row]));

/** What those rows say that are of these providers, each entry with whose word it is. */
function entriesOf(rows: readonly GranterRow[], providers: readonly GrantsOf[]): readonly GrantEntry[] {
  const keyOf = ({ node, module, provision }: GrantsOf): string => `${node}/${module}/${provision}`;
  const asked = new Set(providers.map(keyOf));
  return rows
    .filter((row) => asked.has(keyOf(row)))
    .flatMap(({ node, module, provision, status }) =>
      status.entries.map((entry) => ({ ...entry, provider: node, providerModule: module, provision })),
    );
}
