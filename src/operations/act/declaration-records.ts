/** What acts compose from, what was sent, and what came back: each function one transaction or one snapshot. */
import { arrivalOf, type Arrival } from '../../domain/act/waiting.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type {
  InventoryReads,
  LastSent,
  NewSent,
  ReportReads,
  ReportRow,
  SentReads,
  SentRows,
} from '../ports/declaration-rows.ts';
import type { SealingKeyReads } from '../ports/node-rows.ts';
import { controller, type EventRows, type Reads, type ReadsNumbered, type Writes } from '../ports/work.ts';

export type Snapshot = {
  readonly inventory: Inventory;
  /** What each node was last sent. */
  readonly sent: ReadonlyMap<NodeName, LastSent>;
};

type View = InventoryReads & SentReads & ReportReads & SealingKeyReads;

/** The records of declarations, over a store. */
export function declarationRecords(store: Reads<View> & ReadsNumbered<View> & Writes<SentRows & EventRows>) {
  return {
    /** A number that rises in the order of the snapshots, and the snapshot it belongs to: taken in one transaction (D4). */
    numbered: async (): Promise<Snapshot & { readonly number: number }> => {
      const { number, seen } = await store.readNumbered(snapshotOf);
      return { ...seen, number };
    },

    snapshot: (): Promise<Snapshot> => store.read(snapshotOf),

    /** Records what the stream has acknowledged; a number that is not higher than the kept one changes nothing. */
    recordSent: (...sent: readonly NewSent[]): Promise<void> => recordAll(store, sent),

    /** The last report of each; a node that never spoke is not in it. */
    reportsOf: (nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, ReportRow>> =>
      store.read(async (view) => byNode(await view.reportRows(nodes))),

    /** Whether each of these nodes did what it was last sent; one that was sent nothing is waited for like the others. */
    arrivals: (nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, Arrival>> =>
      store.read(async (view) => {
        const rows = await view.lastSent(nodes);
        return new Map(nodes.map((node) => [node, arrivalOf(rows.get(node), rows.get(node)?.reported)]));
      }),

    /** The sealing keys of those of these nodes, or of all, that have one: that is, that have joined. */
    sealingKeys: (nodes?: readonly NodeName[]): Promise<ReadonlyMap<NodeName, Uint8Array>> =>
      store.read((view) => view.sealingKeys(nodes)),
  };
}

async function snapshotOf(view: View): Promise<Snapshot> {
  const [inventory, sent] = await Promise.all([view.inventory(), view.lastSent()]);
  return { inventory, sent };
}

function recordAll(store: Writes<SentRows & EventRows>, sent: readonly NewSent[]): Promise<void> {
  return store.write(controller, async (tx) => {
    const recorded = new Set(await tx.putSent(sent));
    await tx.events(
      sent
        .filter(({ node }) => recorded.has(node))
        .map(({ node, digest, number }) => ({ kind: 'declaration-sent', about: node, detail: { digest, number } })),
    );
  });
}

const byNode = <Row extends { readonly node: NodeName }>(rows: readonly Row[]): ReadonlyMap<NodeName, Row> =>
  new Map(rows.map((row) => [row.node, row]));
