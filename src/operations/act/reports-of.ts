import type { NodeName } from '../../domain/words/names.ts';
import type {
  GranterEntryOf,
  GranterRow,
  ProviderOf,
  ReportReads,
  ReportRow,
  SentReads,
  SentRow,
} from '../ports/declaration-rows.ts';
import type { NodeReads } from '../ports/node-rows.ts';
import type { Reads } from '../ports/work.ts';

export type NodeAccount = {
  readonly sent?: SentRow;
  readonly report?: ReportRow;
  readonly granters: readonly GranterRow[];
};

/** The last report of each of these nodes; a node that never spoke is not in it. */
export function reportsOf(
  store: Reads<ReportReads>,
  nodes: readonly NodeName[],
): Promise<ReadonlyMap<NodeName, ReportRow>> {
  return store.read(async (view) => new Map((await view.reportRows(nodes)).map((row) => [row.node, row])));
}

/** What the granters of these providers last said of each credential they know. */
export function granterEntriesOf(
  store: Reads<ReportReads>,
  providers: readonly ProviderOf[],
): Promise<readonly GranterEntryOf[]> {
  return store.read(async (view) => {
    const asked = new Set(providers.map(providerKey));
    const rows = await view.granterRows([...new Set(providers.map(({ node }) => node))]);
    return rows
      .filter((row) => asked.has(providerKey(row)))
      .flatMap((row) => row.status.entries.map((entry) => ({ provider: providerOf(row), entry })));
  });
}

/** What was sent to each of these nodes, its last report and its granters, all of one moment: what an act waits on. */
export function accountsOf(
  store: Reads<SentReads & ReportReads>,
  nodes: readonly NodeName[],
): Promise<ReadonlyMap<NodeName, NodeAccount>> {
  return store.read(async (view) => {
    const sent = new Map((await view.sentRows(nodes)).map((row) => [row.node, row]));
    const reports = new Map((await view.reportRows(nodes)).map((row) => [row.node, row]));
    const granters = await view.granterRows(nodes);
    return new Map(
      nodes.map((node) => [
        node,
        account(
          sent.get(node),
          reports.get(node),
          granters.filter((row) => row.node === node),
        ),
      ]),
    );
  });
}

/** The sealing keys of those of these nodes that have proven one. */
export function sealingKeysOf(
  store: Reads<Pick<NodeReads, 'sealingKeys'>>,
  nodes: readonly NodeName[],
): Promise<ReadonlyMap<NodeName, Uint8Array>> {
  return store.read((view) => view.sealingKeys(nodes));
}

function account(
  sent: SentRow | undefined,
  report: ReportRow | undefined,
  granters: readonly GranterRow[],
): NodeAccount {
  return { ...(sent && { sent }), ...(report && { report }), granters };
}

const providerOf = ({ node, module, provision }: GranterRow): ProviderOf => ({ node, module, provision });
const providerKey = ({ node, module, provision }: ProviderOf): string => `${node}/${module}/${provision}`;
