/** Waits until something holds, looking ten times a second. Errors: it did not in time; the message says what was waited for. */
export async function within(ms: number, what: string, holds: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > until) throw new Error(`the demo waited ${ms} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
