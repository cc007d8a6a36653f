/** The floor's nodes: one listener that answers for all of them. */
import type { BusConnection } from '../../src/bus/connection.ts';

/** Answers every request on `subject` at once; returns what ends it. */
export function subscribeAll(
  bus: BusConnection,
  subject: string,
  answer: (subject: string, message: Uint8Array) => string | Promise<string>,
): () => void {
  const subscription = bus.nats.subscribe(subject, {
    callback(_error, message) {
      void (async () => message.respond(await answer(message.subject, message.data)))();
    },
  });
  return () => subscription.unsubscribe();
}
