import { canonicalJson } from '../../domain/declaration/canonical.ts';
import { accountOf, isWhole, type Account } from '../../domain/report/account.ts';
import type { Report } from '../../domain/report/report.ts';
import { present } from '../../domain/words/invariant.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { ReportRow, ReportRows, UnreadableRow, UnreadableRows } from '../ports/declaration-rows.ts';
import type { NodeReads, NodeRow } from '../ports/node-rows.ts';
import { controller, type EventRows, type Writes } from '../ports/work.ts';

export type Recorded =
  | { readonly kind: 'recorded'; readonly changed: boolean }
  /** It says nothing new, or is from a node that nobody knows. */
  | { readonly kind: 'ignored'; readonly why: string };

type Tx = ReportRows & Pick<NodeReads, 'nodeRows'> & EventRows;

/** One report, kept as `recordReports` keeps many. */
export async function recordReport(store: Writes<Tx>, report: Report, receivedAt: number): Promise<Recorded> {
  const [recorded] = await recordReports(store, [report], receivedAt);
  return present(recorded, 'what became of the report');
}

/**
 * Keeps what nodes say of themselves (D16–D20), in their order and in one transaction of a constant number of statements: the one
 * row of each account, and, only when a report is complete (D19), what the machine can do and carries, where that changed.
 * What its granters say is kept in any case: they speak for themselves. `receivedAt`: ms, the controller's clock. An event is
 * written when the outcome or the digest is another than before, and when something had drifted. Answers what became of each.
 */
export function recordReports(
  store: Writes<Tx>,
  reports: readonly Report[],
  receivedAt: number,
): Promise<readonly Recorded[]> {
  return store.write(controller, async (tx): Promise<readonly Recorded[]> => {
    const nodes = [...new Set(reports.map(({ node }) => node))];
    // Sent in a row: nothing of a node is looked at before it is held.
    const [held, rows, number] = await Promise.all([tx.holdReports(nodes), tx.nodeRows(nodes), tx.lastNumber()]);
    const accounts = new Map(held.map((row) => [row.node, accountIn(row)]));
    const known = new Map(rows.map((row) => [row.node, row]));
    // A host may report before its send was recorded: only a number that was never taken was certainly never sent.
    const taken = { digest: '', number };
    const kept: Kept[] = [];
    const answers = reports.map((report): Recorded => {
      if (!known.has(report.node)) return { kind: 'ignored', why: `there is no node ${report.node}` };
      const previous = accounts.get(report.node);
      const judged = accountOf(previous, report, receivedAt, taken);
      if (judged.kind === 'ignored') return judged;
      const changed = previous?.outcome !== report.outcome || previous.digest !== report.digest;
      accounts.set(report.node, judged.account);
      kept.push({ report, changed, drifted: isNewDrift(previous, report), gone: isNewlyGone(previous, report) });
      return { kind: 'recorded', changed };
    });
    await keep(tx, { kept, accounts, known, receivedAt });
    return answers;
  });
}

type Kept = {
  readonly report: Report;
  readonly changed: boolean;
  readonly drifted: boolean;
  readonly gone: boolean;
};

/** The next report no longer says it, so an event does (D13). A host tells the same pass again when its granters have something to say. */
function isNewDrift(previous: Account | undefined, { drift }: Report): boolean {
  return drift.length > 0 && JSON.stringify(previous?.drift) !== JSON.stringify(drift);
}

function isNewlyGone(previous: Account | undefined, { declarationGone }: Report): boolean {
  return declarationGone === true && previous?.declarationGone !== true;
}

async function keep(
  tx: Tx,
  of: {
    readonly kept: readonly Kept[];
    readonly accounts: ReadonlyMap<NodeName, Account>;
    readonly known: ReadonlyMap<NodeName, NodeRow>;
    readonly receivedAt: number;
  },
): Promise<void> {
  const { kept, accounts, known, receivedAt } = of;
  if (kept.length === 0) return;
  const nodes = [...new Set(kept.map(({ report }) => report.node))];
  const events = kept.flatMap(({ report, changed, drifted, gone }) => [
    ...(changed ? [reported(report)] : []),
    ...(drifted ? [putRight(report)] : []),
    ...(gone ? [declarationGone(report)] : []),
  ]);
  await Promise.all([
    tx.putReports(nodes.map((node) => rowOf(node, present(accounts.get(node), `the account of ${node}`)))),
    tx.putGranterReports(
      kept.map(({ report }) => report),
      new Date(receivedAt),
    ),
    tx.events(events),
  ]);
  const whole = new Map(kept.flatMap(({ report }) => (isWhole(report) ? [[report.node, report] as const] : [])));
  for (const [node, { capabilities, carriedPorts }] of whole) {
    const before = known.get(node);
    if (!isSame(before?.capabilities, capabilities)) await tx.replaceCapabilities(node, capabilities);
    if (!isSame(before?.carriedPorts, carriedPorts)) await tx.replaceCarriedPorts(node, carriedPorts);
  }
}

/** Whether two lists of plain values hold the same, in whatever order; an absent list is no list, not an empty one (M11). */
function isSame(one: readonly object[] | undefined, other: readonly object[]): boolean {
  if (one?.length !== other.length) return false;
  const words = (list: readonly object[]): string => JSON.stringify(list.map((item) => canonicalJson(item)).toSorted());
  return words(one) === words(other);
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
  node: NodeName,
  { receivedAt, failingSince, digest, number, refusal, declarationGone, postponed, ...account }: Account,
): ReportRow {
  return {
    ...account,
    node,
    receivedAt: new Date(receivedAt),
    ...(digest !== undefined && { digest }),
    ...(number !== undefined && { number }),
    ...(refusal !== undefined && { refusal }),
    ...(declarationGone !== undefined && { declarationGone }),
    ...(postponed !== undefined && { postponed }),
    ...(failingSince !== undefined && { failingSince: new Date(failingSince) }),
  };
}

function putRight({ node, drift }: Report) {
  return { kind: 'drift-put-right', about: node, detail: { drift: drift.slice(0, 10) } };
}

function declarationGone({ node, number }: Report) {
  return { kind: 'declaration-gone', about: node, detail: { ...(number !== undefined && { number }) } };
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
