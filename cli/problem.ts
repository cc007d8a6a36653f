/**
 * Why a command did not do what it was asked: what, why, and the next command (U5). Refusals of the rules come from the
 * domain; these are the command's own: the command line, the terminal, waiting, and a world that does not answer.
 */
import { refusalKinds, type Refusal } from '../src/domain/refusal/refusal.ts';
import { exit, type ExitCode } from './exit.ts';

/** Every kind of the command's own, with its exit code; docs/refusals.md is compared with these too. */
export const problemKinds = {
  usage: exit.usage,
  'confirmation-needed': exit.refused,
  declined: exit.refused,
  'no-mesh': exit.refused,
  'other-version': exit.refused,
  'no-node-here': exit.refused,
  'no-controller': exit.refused,
  'nobody-serves': exit.notFound,
  'verb-refused': exit.refused,
  'no-worker': exit.stillRunning,
  'wait-timed-out': exit.stillRunning,
  interrupted: exit.interrupted,
  'act-failed': exit.unwell,
  'store-down': exit.failed,
  fault: exit.failed,
  bug: exit.failed,
} as const satisfies Readonly<Record<string, ExitCode>>;
export type ProblemKind = keyof typeof problemKinds;

export type Problem = {
  readonly kind: ProblemKind | Refusal['kind'];
  readonly what: string;
  readonly why: string;
  readonly next: readonly string[];
  readonly facts?: Refusal['facts'];
  readonly exitCode: ExitCode;
  /** Of a bug alone: where in the code it was. */
  readonly stack?: string;
};

/** Ends a command from wherever it is. Carries no cause: it is said to a person as it stands. */
export class Stopped extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.what);
    this.name = 'Stopped';
    this.problem = problem;
  }
}

/** A problem of the command's own. */
export function problem(kind: ProblemKind, of: Pick<Problem, 'what' | 'why' | 'next' | 'facts'>): Problem {
  return { kind, ...of, exitCode: problemKinds[kind] };
}

/** A refusal of the rules, as a command ends with it: 4 where something was not found, else 3 (U1). */
export function problemOfRefusal(refusal: Refusal): Problem {
  const { kind, what, why, next, facts } = refusal;
  return { kind, what, why, next, ...(facts === undefined ? {} : { facts }), exitCode: refusalKinds[kind] };
}

/** Ends the command with a refusal. */
export function stopWith(refusal: Refusal): never {
  throw new Stopped(problemOfRefusal(refusal));
}
