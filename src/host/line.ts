/** One line to the bus, kept for ever: tried again ever more slowly while it cannot be had. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  connectBus,
  reconnectDelayMs,
  type BusConnection,
  type BusCredential,
  type BusStatus,
} from '../bus/connection.ts';
import { refusesCredential } from '../bus/faults.ts';
import { errorChain } from './fault.ts';
import type { Say } from './log.ts';

/** Not as one that is away: nothing but another credential, or the same one given again, helps (C79). */
const turnedAway = "the bus refuses this node's credential; it is tried again, ever more slowly";

export type LineOf = {
  readonly servers: readonly string[];
  /** As the server's lists show it. */
  readonly name: string;
  readonly credential: BusCredential;
  readonly say: Say;
  /** The line is there, for the first time or anew. */
  readonly connected: (connection: BusConnection) => void;
  /** It is there again after it was away. */
  readonly again: () => void;
};

export class Line {
  #connection: BusConnection | undefined;

  /** The connection, when there is one now. */
  get connection(): BusConnection | undefined {
    return this.#connection?.isConnected() === true ? this.#connection : undefined;
  }

  /** Connects, again and again. Returns when `signal` aborts. */
  async keep(of: LineOf, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const connection = await connectBus({
          servers: of.servers,
          name: of.name,
          credential: of.credential,
          onStatus: (status) => heard(of, status),
        });
        this.#connection = connection;
        of.say.info({ servers: of.servers }, 'connected to the bus');
        of.connected(connection);
        await closedOrAborted(connection, signal);
        attempt = 0;
      } catch (error) {
        const text = refusesCredential(error) ? turnedAway : 'cannot connect to the bus';
        of.say.warn({ error: errorChain(error), attempt }, text);
      }
      await this.close();
      await pause(reconnectDelayMs(Math.max(1, attempt)), undefined, { signal }).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }
}

function heard(of: LineOf, status: BusStatus): void {
  if (status.kind === 'reconnected') of.again();
  if (status.kind === 'denied') of.say.error({ ...status }, 'the bus forbids what the host asks');
  else if (status.kind === 'error')
    of.say.warn({ ...status }, refusesCredential(status.detail) ? turnedAway : 'a fault of the line to the bus');
  else of.say.info({ status: status.kind }, 'the line to the bus');
}

function closedOrAborted(connection: BusConnection, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    connection.closed.then(
      () => resolve(),
      () => resolve(),
    );
  });
}
