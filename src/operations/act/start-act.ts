import type { ActRow, ActRows, Acting, LockRows, NewAct } from '../ports/act-rows.ts';
import type { Detail, EventRows, Reads, Writes } from '../ports/work.ts';

/** Records that an act began, once however often it is called; answers the row as it now is. */
export function startAct(store: Writes<ActRows & EventRows>, act: NewAct): Promise<ActRow> {
  return store.write(act.person, async (tx) => {
    if (await tx.insertAct(act)) {
      await tx.event({ kind: 'act-started', about: act.workflowId, detail: { act: act.act, summary: act.summary } });
    }
    return heldAct(tx, act.act);
  });
}

/** What is kept of an act; undefined when it never started. */
export function readAct(store: Reads<Pick<ActRows, 'actRow'>>, act: string): Promise<ActRow | undefined> {
  return store.read((view) => view.actRow(act));
}

/** Adds to what is kept of an act; its stage stays. Names, numbers and digests only (A11). */
export function noteOnAct(store: Writes<ActRows>, { act, person }: Acting, detail: Detail): Promise<ActRow> {
  return store.write(person, async (tx) => {
    const { stage } = await heldAct(tx, act);
    await tx.setActStage(act, stage, detail);
    return heldAct(tx, act);
  });
}

/** Ends an act and gives back every credential it held, in one transaction, so that no lock outlives it. The first end stands. */
export function endAct(
  store: Writes<ActRows & LockRows & EventRows>,
  { act, person }: Acting,
  stage: 'closed' | 'abandoned' | 'failed',
  detail: Detail = {},
): Promise<ActRow> {
  return store.write(person, async (tx) => {
    const row = await heldAct(tx, act);
    await tx.deleteLocks(act);
    if (row.endedAt === undefined) {
      await tx.setActStage(act, stage, detail);
      await tx.event({ kind: `act-${stage}`, about: row.workflowId, detail: { act } });
    }
    return heldAct(tx, act);
  });
}

/**
 * Says whether the act's commit happened, and when it did not, sees to it that it never will: a late attempt of the
 * committing step finds the act abandoned. So what is undone after this answer stays undone.
 */
export function settleAct(
  store: Writes<ActRows & LockRows & EventRows>,
  { act, person }: Acting,
): Promise<'committed' | 'abandoned'> {
  return store.write(person, async (tx) => {
    const row = await heldAct(tx, act);
    if (row.committedAt !== undefined) return 'committed';
    if (row.endedAt !== undefined) return 'abandoned';
    await tx.deleteLocks(act);
    await tx.setActStage(act, 'abandoned', {});
    await tx.event({ kind: 'act-abandoned', about: row.workflowId, detail: { act } });
    return 'abandoned';
  });
}

/** The act's row, held until the transaction ends. That it is there is the caller's duty: an act starts before it acts. */
export async function heldAct(tx: ActRows, act: string): Promise<ActRow> {
  const row = await tx.holdAct(act);
  if (row === undefined) throw new Error(`act ${act} was never started`);
  return row;
}
