/** Waiting inside an activity: heartbeats, looks at the rows, sleeps until something was reported. */
import { setTimeout as pause } from 'node:timers/promises';
import { CancelledFailure, Context } from '@temporalio/activity';
import type { Wakes } from './ports.ts';

/** How long to sleep at most between two looks: the announcement of a report may be lost, its row is not. */
const lookAgainMs = 1000;

/** How often at most it is written down what is waited for: it is for people to read. */
const sayAgainMs = 1000;
/** What comes within this time was not waited for. */
const saysNothingMs = 300;

/** What is waited for, in words; and how many reports it takes at least, one where it is not said: before, there is nothing new to see. */
type Seen<T> = { done: T } | { waitsFor: readonly string[]; reports?: number };

/**
 * Calls `look` until it answers something, woken by reports; heartbeats what it waits for, and has it said. What was said last
 * stands until what is noted next takes it back. Survives any restart, since each look reads rows alone. Looking takes at
 * most half of its time, however many report. Ends by cancellation with CancelledFailure.
 */
export async function untilReported<T>(
  wakes: Wakes,
  look: () => Promise<Seen<T>>,
  say: (waitsFor: readonly string[]) => Promise<void>,
): Promise<T> {
  const context = Context.current();
  let said = '';
  let sayFrom = performance.now() + saysNothingMs;
  let saying = Promise.resolve();
  for (;;) {
    const since = wakes.now();
    const began = performance.now();
    const seen = await look();
    const tookMs = performance.now() - began;
    if ('done' in seen) {
      await saying;
      return seen.done;
    }
    const words = seen.waitsFor.slice(0, 20).join('; ');
    context.heartbeat(words.slice(0, 500));
    if (words !== said && began >= sayFrom) {
      await saying;
      // Nothing that is waited for gets later by it.
      saying = say(seen.waitsFor.slice(0, 20));
      saying.catch(() => {});
      said = words;
      sayFrom = began + sayAgainMs;
    }
    const untilMs = said === '' ? Math.max(1, sayFrom - performance.now()) : lookAgainMs;
    const enough = since + (seen.reports ?? 1) - 1;
    await Promise.race([Promise.all([wakes.after(enough, untilMs), pause(tookMs)]), context.cancelled]);
    if (context.cancellationSignal.aborted) throw new CancelledFailure('the wait was cancelled');
  }
}

/** Runs `work` over all of `items`, a bounded number at once, heartbeating as they end. */
export async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const context = Context.current();
  const left = [...items];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      await work(item);
      context.heartbeat(`${items.length - left.length} of ${items.length}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}
