/**
 * How things are measured: floor and product one after the other, round by round, so that whatever else the machine does
 * meets both alike. What is compared are ratios taken in one run; times alone say little about a shared machine.
 */
import { loadavg } from 'node:os';

/** Does the work once. Answers its own figure where that is not the time it took. */
export type Work = (round: number) => number | void | Promise<number | void>;
export type Summary = { readonly p50: number; readonly p99: number; readonly rounds: number };

/** Every way once a round, in turn, after `warm` rounds that do not count. Figures are milliseconds unless a way gives its own. */
export async function alternately<Way extends string>(
  ways: Readonly<Record<Way, Work>>,
  { rounds, warm = 2 }: { readonly rounds: number; readonly warm?: number },
): Promise<Readonly<Record<Way, Summary>>> {
  const figures = new Map<string, number[]>();
  for (let round = 0; round < rounds + warm; round += 1)
    for (const [name, work] of Object.entries<Work>(ways)) {
      const figure = await measured(work, round);
      if (round >= warm) figures.set(name, [...(figures.get(name) ?? []), figure]);
    }
  const summaries: Partial<Record<Way, Summary>> = {};
  for (const name of keysOf(ways)) summaries[name] = summaryOf(figures.get(name) ?? []);
  return complete(summaries, ways);
}

async function measured(work: Work, round: number): Promise<number> {
  const began = performance.now();
  const own = await work(round);
  return own ?? performance.now() - began;
}

/** The median, and the 99th of a hundred; of fewer rounds than a hundred that is the worst. */
export function summaryOf(figures: readonly number[]): Summary {
  const sorted = figures.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), rounds: sorted.length };
}

/** What else the machine was doing: the load of the last minute, per core when divided by their number. */
export const loadNow = (): number => loadavg()[0] ?? NaN;

function keysOf<Key extends string>(of: Readonly<Record<Key, unknown>>): readonly Key[] {
  const keys: Key[] = [];
  for (const key in of) keys.push(key);
  return keys;
}

function complete<Key extends string, Value>(
  part: Partial<Record<Key, Value>>,
  all: Readonly<Record<Key, unknown>>,
): Readonly<Record<Key, Value>> {
  if (!isComplete(part, all)) throw new Error('a way was not measured');
  return part;
}
function isComplete<Key extends string, Value>(
  part: Partial<Record<Key, Value>>,
  all: Readonly<Record<Key, unknown>>,
): part is Record<Key, Value> {
  return keysOf(all).every((key) => key in part);
}
