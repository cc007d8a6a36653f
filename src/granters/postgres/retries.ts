/** When to try again what failed: sooner first, later each time, at once when what it is about changed. */
export type Retries = {
  /** Whether it may be tried: it did not fail, its wait is over, or it is about something else now. */
  mayTry(name: string, about: string): boolean;
  failed(name: string, about: string): void;
  succeeded(name: string): void;
};

const firstWaitMs = 500;
const lastWaitMs = 30_000;

/** Retries that begin with nothing having failed. */
export function createRetries(nowMs: () => number): Retries {
  const failures = new Map<string, { about: string; waitMs: number; atMs: number }>();
  return {
    mayTry(name, about) {
      const failure = failures.get(name);
      return failure === undefined || failure.about !== about || nowMs() >= failure.atMs;
    },
    failed(name, about) {
      const before = failures.get(name);
      const waitMs = before?.about === about ? Math.min(before.waitMs * 2, lastWaitMs) : firstWaitMs;
      failures.set(name, { about, waitMs, atMs: nowMs() + waitMs });
    },
    succeeded: (name) => void failures.delete(name),
  };
}
