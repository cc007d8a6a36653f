/** Says when it is time for the next pass. Rung many times while nobody waits, it has rung once: passes coalesce. */
import { setTimeout as pause } from 'node:timers/promises';

export class Bell {
  #rung = new AbortController();

  ring(): void {
    this.#rung.abort();
  }

  /** Resolves at the next ring, at once when it has rung since the last wait, after `withinMs`, or when `signal` aborts. */
  async wait(withinMs: number, signal: AbortSignal): Promise<void> {
    // Being woken is what is waited for, so it is no fault.
    await pause(withinMs, undefined, { signal: AbortSignal.any([this.#rung.signal, signal]) }).catch(() => undefined);
    this.#rung = new AbortController();
  }
}
