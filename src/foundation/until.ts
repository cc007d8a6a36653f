/** Looks again until `condition` holds. `withinMs` is a deadline, not a pause; past it, an Error names `what` was awaited. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  { withinMs, what }: { readonly withinMs: number; readonly what: string },
): Promise<void> {
  const deadline = performance.now() + withinMs;
  // Short looks first: what is about to happen is seen at once, and what takes long costs little.
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 100)) {
    if (await condition()) return;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
