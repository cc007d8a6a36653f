/** A step of an act that does not go through, as answers have it. */
export type Trying = {
  readonly step: string;
  /** How often it has failed so far. */
  readonly failed: number;
  /** With its causes; no error of a step holds a value (S5). */
  readonly lastError: string;
  /** Absent while it is being tried. */
  readonly nextTryAt?: string;
};

/** `tellProviders has failed 3 times, and is tried again at …: the bus is away: connect ECONNREFUSED`. */
export function tryingInWords({ step, failed, lastError, nextTryAt }: Trying): string {
  const again = nextTryAt === undefined ? 'is being tried again' : `is tried again at ${nextTryAt}`;
  return `${step} has failed ${failed === 1 ? 'once' : `${failed} times`} and ${again}: ${lastError}`;
}
