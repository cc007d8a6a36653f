/**
 * An act's own record: what the store knows of it, and so what happened. Each function of a record is one transaction,
 * idempotent by the act's id.
 */
import type { ActRow, ActRows, LockRows, NewAct } from '../ports/act-rows.ts';
import { controller, type Detail, type EventRows, type NewEvent, type Reads, type Writes } from '../ports/work.ts';

type ActStore = Writes<ActRows & LockRows & EventRows> & Reads<Pick<ActRows, 'actRow'>>;

/** The records of acts, over a store. */
export function actRecords(store: ActStore) {
  return {
    /** Records that an act began, once however often it is called; answers its row as it now is. */
    begin: (act: NewAct): Promise<ActRow> =>
      store.write(act.person, async (tx) => {
        const [isNew, row] = await Promise.all([tx.insertAct(act), heldAct(tx, act.act)]);
        if (isNew) await tx.event(startOf(act));
        return row;
      }),

    /**
     * Records an act that found nothing to do: it began and ended, in one transaction. One that had begun before stays as it is.
     * Answers its row as it now is.
     */
    pass: (act: NewAct): Promise<ActRow> =>
      store.write(act.person, async (tx) => {
        const [isNew, row] = await Promise.all([tx.insertAct(act, 'closed'), heldAct(tx, act.act)]);
        if (isNew) await tx.events([startOf(act), endOf(row, 'closed')]);
        return row;
      }),

    read: (act: string): Promise<ActRow | undefined> => store.read((view) => view.actRow(act)),

    /** Adds to what is kept of an act; its stage stays. Names, numbers and digests only (A11). */
    note: (act: string, detail: Detail): Promise<void> =>
      store.write(controller, async (tx) => {
        const { stage } = await heldAct(tx, act);
        await tx.setActStage(act, stage, detail);
      }),

    /** Ends an act and gives back every credential it held, so that no lock outlives it. The first end stands. */
    end: (act: string, stage: 'closed' | 'failed', detail: Detail = {}): Promise<void> =>
      store.write(controller, async (tx) => {
        const row = await heldAct(tx, act);
        await tx.deleteLocks(act);
        if (row.endedAt !== undefined) return;
        await tx.setActStage(act, stage, detail);
        await tx.event(endOf(row, stage));
      }),

    /**
     * Says whether the act's commit happened, and when it did not, sees to it that it never will: a late attempt of the
     * committing step finds the act abandoned. So what is undone after this answer stays undone.
     */
    settle: (act: string): Promise<'committed' | 'abandoned'> => store.write(controller, (tx) => settledIn(tx, act)),
  };
}

/** What is told of an act that began. */
export function startOf({ act, workflowId, person, summary }: NewAct): NewEvent {
  return { kind: 'act-started', about: workflowId, person, detail: { act, summary } };
}

/** The same within a transaction. */
export async function settledIn(tx: ActRows & LockRows & EventRows, act: string): Promise<'committed' | 'abandoned'> {
  const row = await heldAct(tx, act);
  if (row.committedAt !== undefined) return 'committed';
  if (row.endedAt !== undefined) return 'abandoned';
  await tx.deleteLocks(act);
  await tx.setActStage(act, 'abandoned', {});
  await tx.event(endOf(row, 'abandoned'));
  return 'abandoned';
}

function endOf({ act, workflowId, person }: ActRow, stage: 'closed' | 'failed' | 'abandoned'): NewEvent {
  return { kind: `act-${stage}`, about: workflowId, person, detail: { act } };
}

/** The act's row, held until the transaction ends. That it is there is the caller's duty: an act begins before it acts. */
export async function heldAct(tx: ActRows, act: string): Promise<ActRow> {
  const row = await tx.holdAct(act);
  if (row === undefined) throw new Error(`act ${act} was never begun`);
  return row;
}
