import type { Look } from './look.ts';

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** How long, in its largest unit that is at least one: `42s`, `3m`, `5h`, `12d`. */
export function span(ms: number): string {
  for (const [unit, each] of units) if (Math.abs(ms) >= each) return `${Math.floor(Math.abs(ms) / each)}${unit}`;
  return '0s';
}

/** A time of a body: relative on a terminal, in full elsewhere (U6). */
export function time(rfc3339: string, look: Look): string {
  if (!look.isTerminal) return rfc3339;
  const ago = look.nowMs - Date.parse(rfc3339);
  if (Math.abs(ago) < 1_000) return 'just now';
  return ago > 0 ? `${span(ago)} ago` : `in ${span(ago)}`;
}

/** How a time is written in a body. */
export function rfc3339(at: Date | number): string {
  return new Date(at).toISOString();
}
