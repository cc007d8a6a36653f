import type { Report } from './report.ts';

/** A declaration as it was sent: what reports are held against. */
export type Sent = { readonly digest: string; readonly number: number };

/** The one row a node has (D16): its last report, and since when and how often the same failure was said (D17). Times: ms by the controller's clock. */
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
  | 'intervalMs'
  | 'stampedAt'
> & {
  readonly receivedAt: number;
  /** Absent: it is not failing, or nobody knows since when (then it is never stuck, D18). */
  readonly failingSince?: number | undefined;
  readonly failingReports: number;
};

/** The row to store for this report, or why it changes nothing (D20: a lower boot and sequence never replaces a higher). */
export function accountOf(
  _previous: Account | undefined,
  _report: Report,
  _receivedAt: number,
  _sent?: Sent,
): { readonly kind: 'stored'; readonly account: Account } | { readonly kind: 'ignored'; readonly why: string } {
  throw new Error('not written yet');
}

/** Three facts, never one word for two (D23); `well` only when same, current and applied. */
export type Standing = {
  readonly told: 'same' | 'behind' | 'never told' | 'unresolvable';
  /** Absent when nothing was sent that a report could be about. */
  readonly report?: 'current' | 'waiting';
  readonly outcome?: Report['outcome'];
  readonly well: boolean;
};

/** How a node stands: what would be sent now, what was last sent, what it last said. */
export function standing(_of: {
  readonly wouldSend: string | 'unresolvable';
  readonly sent?: Sent | undefined;
  readonly account?: Account | undefined;
}): Standing {
  throw new Error('not written yet');
}

/** D21: quiet after three of its own intervals without a report, silent when it never spoke. `now` and `receivedAt`: ms, the controller's clock. */
export function hearing(_account: Account | undefined, _now: number): 'heard' | 'quiet' | 'silent' {
  throw new Error('not written yet');
}

/** D18: the same failure three reports in a row. A row without a recorded start is never stuck. */
export function isStuck(_account: Account): boolean {
  throw new Error('not written yet');
}
