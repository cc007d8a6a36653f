/**
 * The account of a node: the one row that its reports make (D16), and how the node stands by it (D21, D23). Order is by the
 * host's own counter; its clock is shown and never compared, and times here are the controller's, in milliseconds.
 */
import type { Report } from './report.ts';

/** A declaration as it was sent: what reports are held against. */
export type Sent = { readonly digest: string; readonly number: number };

/** A node's last report, and since when and how often in a row the same failure was said (D17). */
export type Account = Pick<
  Report,
  | 'boot'
  | 'sequence'
  | 'outcome'
  | 'digest'
  | 'number'
  | 'declared'
  | 'applied'
  | 'failures'
  | 'refusal'
  | 'drift'
  | 'kept'
  | 'declarationGone'
  | 'postponed'
  | 'intervalMs'
  | 'stampedAt'
> & {
  readonly receivedAt: number;
  /** Absent: it is not failing, or nobody knows since when (then it is never stuck, D18). */
  readonly failingSince?: number | undefined;
  readonly failingReports: number;
};

/** stored: the row to keep. ignored: nothing changes, for the reason said. */
export type Accounting =
  { readonly kind: 'stored'; readonly account: Account } | { readonly kind: 'ignored'; readonly why: string };

/**
 * The row that this report makes. Ignored are a report whose (boot, sequence) is not higher than the row's (D20: delivered
 * again, or late), and one about a number that was never sent. `sent` is what was last sent to the node, where that is known.
 */
export function accountOf(previous: Account | undefined, report: Report, receivedAt: number, sent?: Sent): Accounting {
  if (previous !== undefined && !isNewer(report, previous))
    return { kind: 'ignored', why: `report ${counter(report)} is not newer than ${counter(previous)}` };
  if (report.number !== undefined && sent !== undefined && report.number > sent.number)
    return {
      kind: 'ignored',
      why: `it speaks of declaration ${report.number}, which was never sent to ${report.node}`,
    };
  const {
    boot,
    sequence,
    outcome,
    digest,
    number,
    declared,
    applied,
    failures,
    refusal,
    drift,
    kept,
    declarationGone,
    postponed,
    intervalMs,
    stampedAt,
  } = report;
  return {
    kind: 'stored',
    account: {
      boot,
      sequence,
      outcome,
      ...(digest === undefined ? {} : { digest }),
      ...(number === undefined ? {} : { number }),
      declared,
      applied,
      failures,
      ...(refusal === undefined ? {} : { refusal }),
      drift,
      kept,
      ...(declarationGone === undefined ? {} : { declarationGone }),
      ...(postponed === undefined || postponed.length === 0 ? {} : { postponed }),
      intervalMs,
      stampedAt,
      receivedAt,
      ...failing(previous, report, receivedAt),
    },
  };
}

type Counter = Pick<Report, 'boot' | 'sequence'>;
const counter = ({ boot, sequence }: Counter): string => `${boot}.${sequence}`;
const isNewer = (a: Counter, b: Counter): boolean => a.boot > b.boot || (a.boot === b.boot && a.sequence > b.sequence);

/** D17: the same failure goes on counting, anything different starts again, a clean apply clears. */
function failing(
  previous: Account | undefined,
  report: Report,
  receivedAt: number,
): Pick<Account, 'failingSince' | 'failingReports'> {
  if (report.outcome !== 'failed' && report.outcome !== 'refused') return { failingReports: 0 };
  if (previous === undefined || failureOf(previous) !== failureOf(report))
    return { failingSince: receivedAt, failingReports: 1 };
  // A row from before starts were recorded goes on without one.
  const since = previous.failingSince === undefined ? {} : { failingSince: previous.failingSince };
  return { ...since, failingReports: previous.failingReports + 1 };
}

/** What makes two failures one: outcome, refusal and failed resources. The error's text does not count: durations and counters vary. */
function failureOf({ outcome, refusal, failures }: Pick<Report, 'outcome' | 'refusal' | 'failures'>): string {
  return JSON.stringify([outcome, refusal?.kind ?? '', failures.map((one) => one.resource).toSorted()]);
}

/** D19: only this may replace what the mesh believes the machine holds and carries; a part of it never does. */
export function isWhole(report: Pick<Report, 'outcome' | 'declared' | 'applied'>): boolean {
  return (report.outcome === 'applied' || report.outcome === 'idle') && report.applied >= report.declared;
}

/** Three facts, never one word for two (D23). */
export type Standing = {
  /** What was sent, against what would be sent now. */
  readonly told: 'same' | 'behind' | 'never told' | 'unresolvable';
  /** Whether the last report is about what was last sent; absent when nothing was sent that it could be about. */
  readonly report?: 'current' | 'waiting';
  /** Of the last report; absent when there was none. */
  readonly outcome?: Report['outcome'];
  /** All is well only when same, current and applied, in full, and while the bus holds what it was sent. */
  readonly well: boolean;
};

/** How a node stands. `wouldSend` is the digest of what would be sent now; absent when the node cannot be resolved (D5). */
export function standing(of: {
  readonly wouldSend: string | undefined;
  readonly sent?: Sent | undefined;
  readonly account?: Account | undefined;
}): Standing {
  const { wouldSend, sent, account } = of;
  const told =
    wouldSend === undefined
      ? 'unresolvable'
      : sent === undefined
        ? 'never told'
        : sent.digest === wouldSend
          ? 'same'
          : 'behind';
  const report = sent === undefined ? undefined : isAbout(account, sent) ? 'current' : 'waiting';
  return {
    told,
    ...(report === undefined ? {} : { report }),
    ...(account === undefined ? {} : { outcome: account.outcome }),
    well:
      told === 'same' &&
      report === 'current' &&
      account?.outcome === 'applied' &&
      isWhole(account) &&
      account.declarationGone !== true,
  };
}

/** D20: an old digest, none, or another number is not what was last sent. */
function isAbout(account: Account | undefined, sent: Sent): boolean {
  return account?.digest === sent.digest && account.number === sent.number;
}

/** D21: quiet after three of its own intervals without a report, silent when it never spoke. `now`: ms, the controller's clock. */
export function hearing(
  account: Pick<Account, 'receivedAt' | 'intervalMs'> | undefined,
  now: number,
): 'heard' | 'quiet' | 'silent' {
  if (account === undefined) return 'silent';
  return now - account.receivedAt > 3 * account.intervalMs ? 'quiet' : 'heard';
}

/** Since when a quiet node is not reachable: a report was due then and did not come. ms, the controller's clock. */
export function unreachableSince(
  account: Pick<Account, 'receivedAt' | 'intervalMs'> | undefined,
  now: number,
): number | undefined {
  if (account === undefined || hearing(account, now) !== 'quiet') return undefined;
  return account.receivedAt + account.intervalMs;
}

/** D18: the same failure three reports in a row. A row without a recorded start is never stuck. */
export function isStuck(account: Pick<Account, 'failingSince' | 'failingReports'>): boolean {
  return account.failingSince !== undefined && account.failingReports >= 3;
}
