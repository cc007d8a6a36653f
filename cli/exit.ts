/** How a command ends (U1). `changes` is said with `plan --detailed-exitcode` alone. */
export const exit = {
  done: 0,
  failed: 1,
  changes: 2,
  refused: 3,
  notFound: 4,
  stillRunning: 5,
  unwell: 6,
  usage: 64,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exit)[keyof typeof exit];

/** What each code means, as help and the manual say it. */
export const exitMeanings: readonly (readonly [ExitCode, string])[] = [
  [exit.done, 'done'],
  [exit.failed, 'failed: something broke'],
  [exit.changes, 'with plan --detailed-exitcode: there are changes'],
  [exit.refused, 'refused: nothing was changed'],
  [exit.notFound, 'not found'],
  [exit.stillRunning, 'the wait timed out; the work goes on'],
  [exit.unwell, 'accepted, then failed or stuck on a node; or something needs a person'],
  [exit.usage, 'the command line was wrong'],
  [exit.interrupted, 'interrupted'],
];
