/** Being told by Postgres that something was written: a connection of its own that listens, for as long as it is wanted. */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { connectionOf, type StoreAddress } from './address.ts';

const retryMs = 1_000;

/**
 * Calls `heard` at each event that is written, and after each (re)connection, since what was written meanwhile was not heard.
 * Never rejects: a connection that breaks is made again. Answers what ends it.
 */
export function listenForEvents(address: StoreAddress, heard: () => void): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const done = listen(address, heard, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

async function listen(address: StoreAddress, heard: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const client = new pg.Client(connectionOf(address));
    const ended = new Promise<void>((resolve) => {
      // What broke it does not matter here: it is made again, and who is woken looks at the rows.
      client.once('error', () => resolve());
      client.once('end', () => resolve());
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('notification', () => heard());
    try {
      await client.connect();
      await client.query('listen mesh_events');
      heard();
      await ended;
    } catch {
      // The server is away: the slow look of who is woken goes on meanwhile.
    }
    await client.end().catch(() => undefined);
    await pause(retryMs, undefined, { signal }).catch(() => undefined);
  }
}
