/**
 * What `mesh doctor` says of a machine's set-up: one finding for each thing that it looked at. This folder decides what is
 * well, what is wrong, and what to do about it; it looks at nothing itself (`cli/doctor` does) and it never changes anything.
 *
 * | is | when |
 * | --- | --- |
 * | ok | it was looked at, and is as it should be |
 * | wrong | it needs a person; `next` says what to do |
 * | unknown | it could not be looked at, or this machine cannot tell; no reason to call a person |
 */
export type Standing = 'ok' | 'wrong' | 'unknown';

/** In the order in which they are said: what stands on nothing first. */
export const parts = ['this machine', 'foundation', 'processes'] as const;
export type Part = (typeof parts)[number];

export type Finding = {
  readonly part: Part;
  /** What was looked at. */
  readonly of: string;
  readonly is: Standing;
  readonly says: string;
  /** The path or address. */
  readonly where?: string;
  /** What to do, each a whole line for a shell; never empty where something is wrong. */
  readonly next: readonly string[];
  /** What a program needs of it: names and numbers only. */
  readonly facts?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
};

/** What came of one look. `silent`: no answer within the time that it was given. `not asked`: what it stands on is not there. */
export type Looked<Value> =
  | { readonly kind: 'seen'; readonly value: Value }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'silent'; readonly withinMs: number }
  | { readonly kind: 'not asked'; readonly why: string };

/** Whether nothing needs a person (U1: else the command ends with 6). */
export const isWell = (findings: readonly Finding[]): boolean => findings.every(({ is }) => is !== 'wrong');

/** What a look that saw nothing says of why. */
export function whyUnseen(looked: Exclude<Looked<unknown>, { readonly kind: 'seen' }>): string {
  switch (looked.kind) {
    case 'failed':
      return looked.why;
    case 'silent':
      return `no answer within ${looked.withinMs / 1_000} s`;
    case 'not asked':
      return `not asked: ${looked.why}`;
  }
}

/** A look that came to nothing is what a person is told of as it is: never as well, and never as broken. */
export function unknown(part: Part, of: string, why: string): Finding {
  return { part, of, is: 'unknown', says: why, next: [] };
}
