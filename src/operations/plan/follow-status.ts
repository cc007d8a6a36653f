import type { MarkReads, Reads } from '../ports/work.ts';
import type { Hash } from './judge-nodes.ts';
import { status, type NodeStatus, type Status, type StatusReads } from './status.ts';

export type Following = {
  readonly hash: Hash;
  /** ms, the controller's clock. */
  readonly now: () => number;
  /** Settles after that many ms, or when `signal` aborts. */
  readonly pause: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
};

/** How often it is asked whether anything was written: one small query. */
const askEveryMs = 200;
/** A node becomes quiet without anything being written. */
const lookEveryMs = 5_000;

/** Calls `show` with how things stand, and again whenever that is another one, until `signal` aborts (D24). Reads in full only after something was written. */
export async function followStatus(
  store: Reads<StatusReads & MarkReads>,
  { hash, now, pause, signal }: Following,
  show: (status: Status, before: Status | undefined) => void,
): Promise<void> {
  let shown: Status | undefined;
  let [lookedAt, mark] = [Number.NEGATIVE_INFINITY, ''];
  while (!signal.aborted) {
    // Taken before the look: what is written in between is looked at again, never missed.
    const marked = await store.read((view) => view.mark());
    if (marked !== mark || now() - lookedAt >= lookEveryMs) {
      [lookedAt, mark] = [now(), marked];
      const found = await status(store, hash, now());
      if (shown === undefined || differs(shown, found)) {
        show(found, shown);
        shown = found;
      }
    }
    await pause(askEveryMs);
  }
}

/** Whether anything but the time of the last report is another one: a node that says the same again has said nothing new. */
function differs(one: Status, other: Status): boolean {
  return JSON.stringify(withoutTimes(one)) !== JSON.stringify(withoutTimes(other));
}

function withoutTimes({ nodes, ...rest }: Status): unknown {
  return { ...rest, nodes: nodes.map(saidBy) };
}

function saidBy({ lastReport, ...node }: NodeStatus): unknown {
  if (lastReport === undefined) return node;
  const { at: _at, failing, ...report } = lastReport;
  // That the same failure was said once more is no news; that it is stuck by now is.
  return {
    ...node,
    lastReport: { ...report, ...(failing === undefined ? {} : { stuck: failing.stuck, since: failing.since }) },
  };
}
