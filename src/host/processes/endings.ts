/**
 * How often a process has ended by itself, and when it may be started again. Pure: times are of one monotonic clock, ms.
 *
 * | it ended                                   | counts as      | is started again                    |
 * | ------------------------------------------ | -------------- | ----------------------------------- |
 * | having run for `stableMs` or longer        | the first time | at once                             |
 * | after its start was through, but before    | one time more  | at once; later after a growing wait |
 * | before its start was through ("at once")   | one time more  | after a growing wait                |
 *
 * Two times or more is a failure, until it has run for `stableMs`.
 */
export type Patience = {
  /** How long a process without `ready` must live to count as started. */
  readonly settleMs: number;
  /** How long a process may take until it is ready. */
  readonly readyMs: number;
  /** How long it must run for its earlier endings to be forgotten. */
  readonly stableMs: number;
  /** The first wait before it is started again; it doubles up to `longestWaitMs`. */
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
};
export const usualPatience: Patience = {
  settleMs: 500,
  readyMs: 30_000,
  stableMs: 10_000,
  firstWaitMs: 1_000,
  longestWaitMs: 60_000,
};

export type Endings = { readonly count: number; readonly notBefore: number };
export const noEndings: Endings = { count: 0, notBefore: 0 };

/** One ending more. `ranMs`: Infinity when nobody knows how long it ran, which is never held against it. */
export function afterEnding(
  before: Endings,
  ending: { readonly endedAt: number; readonly ranMs: number; readonly atOnce: boolean },
  patience: Patience,
): Endings {
  const count = !ending.atOnce && ending.ranMs >= patience.stableMs ? 1 : before.count + 1;
  const waits = ending.atOnce ? count : count - 1;
  const waitMs = waits === 0 ? 0 : Math.min(patience.firstWaitMs * 2 ** (waits - 1), patience.longestWaitMs);
  return { count, notBefore: ending.endedAt + waitMs };
}

/** How long a running process must still run before its endings are forgotten, ms; 0 when there is nothing to forget. */
export function unsteadyMs(endings: Endings, ranMs: number, patience: Patience): number {
  return endings.count < 2 ? 0 : Math.max(0, patience.stableMs - ranMs);
}
