import { accountOf, isWhole, type Account } from '../../domain/report/account.ts';
import type { Report } from '../../domain/report/report.ts';
import type { ReportRow, ReportRows, UnreadableRow, UnreadableRows } from '../ports/declaration-rows.ts';
import type { NodeReads } from '../ports/node-rows.ts';
import { controller, type EventRows, type Writes } from '../ports/work.ts';

export type Recorded =
  | { readonly kind: 'recorded'; readonly changed: boolean }
  /** It says nothing new, or is from a node that nobody knows. */
  | { readonly kind: 'ignored'; readonly why: string };

type Tx = ReportRows & Pick<NodeReads, 'nodeRows'> & EventRows;

/**
 * Keeps what a node says of itself (D16–D20), in one transaction: the one row of its account, and, only when the report is complete
 * (D19), what the machine can do and carries. What its granters say is kept in any case: they speak for themselves.
 * `receivedAt`: ms, the controller's clock. An event is written when the outcome or the digest is another than before.
 */
export function recordReport(store: Writes<Tx>, report: Report, receivedAt: number): Promise<Recorded> {
  return store.write(controller, async (tx): Promise<Recorded> => {
    const [known] = await tx.nodeRows([report.node]);
    if (known === undefined) return { kind: 'ignored', why: `there is no node ${report.node}` };
    const previous = await tx.holdReport(report.node);
    // A host may report before its send was recorded: only a number that was never taken was certainly never sent.
    const taken = { digest: '', number: await tx.lastNumber() };
    const judged = accountOf(previous && accountIn(previous), report, receivedAt, taken);
    if (judged.kind === 'ignored') return judged;

    await tx.putReport(rowOf(report, judged.account));
    await tx.putGranterReports(report.node, report.granters, new Date(receivedAt));
    if (isWhole(report)) {
      await tx.replaceCapabilities(report.node, report.capabilities);
      await tx.replaceCarriedPorts(report.node, report.carriedPorts);
    }
    const changed = previous?.outcome !== report.outcome || previous.digest !== report.digest;
    if (changed) await tx.event(reported(report));
    if (isNewDrift(previous, report)) await tx.event(putRight(report));
    return { kind: 'recorded', changed };
  });
}

/** Keeps a message that nobody could read aside (U17); it is counted in `status`. */
export function recordUnreadable(store: Writes<UnreadableRows>, message: UnreadableRow): Promise<void> {
  return store.write(controller, (tx) => tx.insertUnreadable(message));
}

/** The account in a row; times are ms there, and absent fields absent. */
export function accountIn({ receivedAt, failingSince, ...row }: ReportRow): Account {
  return {
    ...row,
    failures: [...row.failures],
    drift: [...row.drift],
    kept: [...row.kept],
    receivedAt: receivedAt.getTime(),
    ...(failingSince !== undefined && { failingSince: failingSince.getTime() }),
  };
}

function rowOf(
  { node }: Report,
  { receivedAt, failingSince, digest, number, refusal, ...account }: Account,
): ReportRow {
  return {
    ...account,
    node,
    receivedAt: new Date(receivedAt),
    ...(digest !== undefined && { digest }),
    ...(number !== undefined && { number }),
    ...(refusal !== undefined && { refusal }),
    ...(failingSince !== undefined && { failingSince: new Date(failingSince) }),
  };
}

/** The next report no longer says it, so an event does (D13). A host tells the same pass again when its granters have something to say. */
function isNewDrift(previous: ReportRow | undefined, { drift }: Report): boolean {
  return drift.length > 0 && JSON.stringify(previous?.drift) !== JSON.stringify(drift);
}

function putRight({ node, drift }: Report) {
  return { kind: 'drift-put-right', about: node, detail: { drift: drift.slice(0, 10) } };
}

function reported({ node, outcome, digest, applied, declared, failures, refusal }: Report) {
  return {
    kind: `declaration-${outcome}`,
    about: node,
    detail: {
      ...(digest !== undefined && { digest }),
      applied,
      declared,
      ...(failures.length > 0 && { failures: failures.slice(0, 10).map(({ resource }) => resource) }),
      ...(refusal !== undefined && { refusal: refusal.kind }),
    },
  };
}
