import type { Look } from './look.ts';
import { nextLines } from './problem.ts';

/** `mesh why`: a link a line, the first that does not hold being what the next command is for. */
export function drawWhy(
  of: {
    readonly thing: string;
    readonly kind: string;
    readonly links: readonly { readonly of: string; readonly says: string; readonly holds: boolean }[];
    readonly next: readonly string[];
  },
  look: Look,
): string {
  const { paint } = look;
  const width = Math.max(...of.links.map((link) => link.of.length));
  return [
    `${paint.bold(of.thing)} ${paint.dim(`(${of.kind})`)}`,
    ...of.links.map(({ of: step, says, holds }) => {
      const line = `${paint.dim(step.padEnd(width))}  ${holds ? paint.green('so ') : paint.red('not')}  ${says}`;
      return `  ${line}`;
    }),
    ...nextLines(of.next, look),
  ].join('\n');
}
