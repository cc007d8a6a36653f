import type { Wakes } from '../activities/ports.ts';

/** Counts reports and wakes who waits for the next one; one for a worker's whole process. */
export function createWakes(): Wakes & { wake(): void } {
  let count = 0;
  let waiting: { readonly since: number; readonly done: () => void }[] = [];
  return {
    now: () => count,
    wake() {
      count += 1;
      for (const { since, done } of waiting) if (count > since) done();
    },
    after(since, withinMs) {
      if (count > since) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(done, withinMs);
        function done(): void {
          clearTimeout(timer);
          waiting = waiting.filter((other) => other.done !== done);
          resolve();
        }
        waiting.push({ since, done });
      });
    },
  };
}
