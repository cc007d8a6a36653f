import type { Problem } from '../problem.ts';
import type { Look } from './look.ts';
import { indent } from './table.ts';

/** What, why, and what to do next (U5); a bug with its stack above. */
export function drawProblem(problem: Problem, look: Look): string {
  const { paint } = look;
  const [first, ...more] = problem.what.split('\n');
  return [
    ...(problem.stack === undefined ? [] : [paint.dim(problem.stack), '']),
    `${paint.red('mesh:')} ${paint.bold(first ?? '')}`,
    ...(more.length === 0 ? [] : [indent(more.join('\n'))]),
    ...(problem.why === '' ? [] : [indent(problem.why)]),
    ...nextLines(problem.next, look),
  ].join('\n');
}

/** The commands to run next, one a line. */
export function nextLines(next: readonly string[], look: Look): readonly string[] {
  if (next.length === 0) return [];
  return [look.paint.dim('next:'), ...next.map((line) => `  ${look.paint.cyan(line)}`)];
}

/** The JSON form of a problem. */
export function problemBody({ kind, what, why, next, exitCode, facts }: Problem) {
  return {
    schema: 'mesh.error',
    version: 1,
    kind,
    what,
    why,
    next,
    exitCode,
    ...(facts === undefined ? {} : { facts }),
  };
}
