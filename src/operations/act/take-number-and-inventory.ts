import type { Inventory } from '../../domain/resolution/inventory.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { InventoryReads, NewSent, SentReads, SentRow, SentRows } from '../ports/declaration-rows.ts';
import type { EventRows, Reads, ReadsNumbered, Writes } from '../ports/work.ts';

export type Snapshot = {
  readonly inventory: Inventory;
  /** What each node was last sent. */
  readonly sent: ReadonlyMap<NodeName, SentRow>;
};
export type NumberedInventory = Snapshot & {
  /** Of two, the one with the higher number was read from the later world (D4). */
  readonly number: number;
};

/** What a push composes from, and the number that the declarations composed from it carry: taken in the same transaction. */
export function takeNumberAndInventory(store: ReadsNumbered<InventoryReads & SentReads>): Promise<NumberedInventory> {
  return store.readNumbered(async (view, number) => ({ number, ...(await snapshotOf(view)) }));
}

/** The same without a number: for looking, never for sending. */
export function takeInventory(store: Reads<InventoryReads & SentReads>): Promise<Snapshot> {
  return store.read(snapshotOf);
}

async function snapshotOf(view: InventoryReads & SentReads): Promise<Snapshot> {
  return { inventory: await view.inventory(), sent: new Map((await view.sentRows()).map((row) => [row.node, row])) };
}

/** Records what the stream has acknowledged; a number that is not higher than the kept one changes nothing. Answers the nodes recorded. */
export function recordSent(
  store: Writes<SentRows & EventRows>,
  person: string,
  sent: readonly NewSent[],
): Promise<readonly NodeName[]> {
  return store.write(person, async (tx) => {
    const recorded = new Set(await tx.putSent(sent));
    await tx.events(
      sent
        .filter(({ node }) => recorded.has(node))
        .map(({ node, digest, number }) => ({ kind: 'declaration-sent', about: node, detail: { digest, number } })),
    );
    return [...recorded];
  });
}

/** What was last sent to these nodes; a node that was sent nothing is not in it. */
export function sentOf(store: Reads<SentReads>, nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, SentRow>> {
  return store.read(async (view) => new Map((await view.sentRows(nodes)).map((row) => [row.node, row])));
}
