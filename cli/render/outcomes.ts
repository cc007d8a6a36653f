/** What came of acts. */
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { count, indent } from './table.ts';

type Ended = { readonly attached: boolean; readonly workflowId: string; readonly ui: string };

export type Pushed = Ended & {
  readonly sent: number;
  readonly alreadySent: number;
  readonly applied: number;
  readonly failed: readonly string[];
  readonly failedCount: number;
  readonly unresolvable: readonly string[];
  readonly unresolvableCount: number;
  readonly secretsMade: number;
};

/** `mesh push`. */
export function drawPushed(of: Pushed, look: Look): string {
  const { paint } = look;
  const isWell = of.failedCount + of.unresolvableCount === 0;
  const told = of.sent === 0 ? 'Nothing new to send' : `Sent to ${count(of.sent, 'node')}`;
  const lines = [
    ...(of.alreadySent > 0 ? [`${count(of.alreadySent, 'node')} had been sent just this already`] : []),
    ...(of.secretsMade > 0 ? [`${count(of.secretsMade, 'secret')} made`] : []),
    `${count(of.applied, 'node')} ${of.applied === 1 ? 'is' : 'are'} as declared`,
    ...(of.failedCount > 0
      ? [paint.red(`${count(of.failedCount, 'node')} did not apply it: ${some(of.failed, of.failedCount)}`)]
      : []),
    ...(of.unresolvableCount > 0
      ? [
          paint.red(
            `${count(of.unresolvableCount, 'node')} cannot be resolved and ${of.unresolvableCount === 1 ? 'was' : 'were'} sent nothing: ${some(of.unresolvable, of.unresolvableCount)}`,
          ),
        ]
      : []),
  ];
  const next = [
    ...(of.failedCount > 0 ? ['mesh status'] : []),
    ...of.unresolvable.slice(0, 3).map((node) => `mesh plan ${node}`),
  ];
  return [
    isWell ? paint.green(`${told}.`) : `${told}.`,
    indent(lines.join('\n')),
    ...nextLines(next, look),
    paint.dim(of.ui),
  ].join('\n');
}

/** `mesh push --behind` when nobody is. */
export function drawNothingBehind(): string {
  return 'No node is behind.';
}

export type Rotated = Ended & {
  readonly credentials: number;
  readonly overlapping: number;
  readonly windowMs: number;
  readonly sessionsEnded: number;
  readonly cutOff: readonly string[];
};

/** `mesh secret rotate`. */
export function drawRotated(of: Rotated, look: Look): string {
  const { paint } = look;
  const abrupt = of.credentials - of.overlapping;
  const lines = [
    ...(of.overlapping > 0
      ? [`${count(of.overlapping, 'credential')} with overlap: old and new both worked until the new one was used`]
      : []),
    ...(abrupt > 0
      ? [`${count(abrupt, 'credential')} without overlap: one end alone had the new one for at most ${of.windowMs} ms`]
      : []),
    ...(of.sessionsEnded > 0 ? [`${count(of.sessionsEnded, 'open session')} of the old login ended`] : []),
    ...of.cutOff.map((path) => paint.yellow(`cut off without having been seen with the new one: ${path}`)),
  ];
  return [
    paint.green(`${count(of.credentials, 'credential')} rotated.`),
    indent(lines.join('\n')),
    paint.dim(of.ui),
  ].join('\n');
}

const some = (names: readonly string[], all: number): string =>
  `${names.join(', ')}${all > names.length ? ` and ${all - names.length} more` : ''}`;
