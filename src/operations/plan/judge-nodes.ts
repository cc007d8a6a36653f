/**
 * How every node stands, from one snapshot: the reads and the judgement that `plan` and `status` share, so that they never
 * disagree (D21, D23). Composing makes no secret and writes nothing (S3).
 */
import { compose, type Composition } from '../../domain/declaration/compose.ts';
import { standing, type Account, type Standing } from '../../domain/report/account.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import { given } from '../../domain/words/given.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { InventoryReads, ReportReads, SentReads, SentRow } from '../ports/declaration-rows.ts';
import type { NodeReads, NodeRow } from '../ports/node-rows.ts';
import { accountIn } from '../report/record-report.ts';

export type StandingReads = InventoryReads & SentReads & ReportReads & NodeReads;

/** Lower-case hex SHA-256 of a text. */
export type Hash = (text: string) => string;

export type JudgedNode = {
  readonly node: NodeRow;
  readonly composition: Composition;
  readonly standing: Standing;
  readonly sent?: SentRow;
  readonly account?: Account;
};

/** Every node, or those named, by name. A name that no node has is left out. */
export async function judgeNodes(
  view: StandingReads,
  hash: Hash,
  nodes?: readonly NodeName[],
): Promise<readonly JudgedNode[]> {
  const [inventory, rows, sentRows, reportRows] = await Promise.all([
    view.inventory(),
    view.nodeRows(nodes),
    view.sentRows(nodes),
    view.reportRows(nodes),
  ]);
  const sent = new Map(sentRows.map((row) => [row.node, row]));
  const reports = new Map(reportRows.map((row) => [row.node, row]));
  const resolution = resolve(inventory);
  return rows.map((node) => {
    const composition = compose({ inventory, resolution, node: node.node, hash });
    const report = reports.get(node.node);
    const facts = { ...given('sent', sent.get(node.node)), ...given('account', report && accountIn(report)) };
    return { node, composition, ...facts, standing: standing({ wouldSend: wouldSend(composition), ...facts }) };
  });
}

/** Absent for what cannot be resolved, and so is not sent anything (D5). */
function wouldSend(composition: Composition): string | undefined {
  return composition.kind === 'composed' ? composition.digest : undefined;
}
