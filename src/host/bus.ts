/**
 * The host's line to the bus, with the node's own credential. It is tried for ever; meanwhile the host goes on with what
 * it has. Nothing that comes over it makes the host do more than look at its declaration (D25).
 */
import { connectBus, reconnectDelayMs, type BusConnection, type BusStatus } from '../bus/connection.ts';
import { lastDeclaration, onChanged } from '../bus/declarations.ts';
import { refusesCredential } from '../bus/faults.ts';
import { publishReport } from '../bus/reports.ts';
import { reportLimitBytes } from '../bus/streams.ts';
import { nodeCredential } from '../bus/token.ts';
import type { Report } from '../domain/report/report.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { errorChain } from './fault.ts';
import type { NodeKeys } from './keys.ts';
import type { Say } from './log.ts';
import { fitReport } from './report.ts';
import type { NodeFile } from './state.ts';

/** `envelope` is what came as one: nothing in it is believed yet. */
export type Fetched =
  { readonly kind: 'away' } | { readonly kind: 'none' } | { readonly kind: 'came'; readonly envelope: unknown };

/** Not as one that is away: nothing but another credential, or the same one given again, helps (C79). */
const turnedAway = "the bus refuses this node's credential; it is tried again, ever more slowly";

export class HostBus {
  readonly #node: NodeFile;
  readonly #say: Say;
  #connection: BusConnection | undefined;

  constructor(node: NodeFile, say: Say) {
    this.#node = node;
    this.#say = say;
  }

  /** Connects, and calls `look` whenever the node is told to look, and whenever the line is there (again). Returns when `signal` aborts. */
  async keep(keys: NodeKeys, look: () => void, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const { name, servers, userJwt } = this.#node;
        const credential = nodeCredential({ node: name, userJwt }, keys.identity);
        const connection = await connectBus({
          servers,
          name: `host ${name}`,
          credential,
          onStatus: (status) => this.#heard(status, look),
        });
        onChanged(connection, name, look);
        this.#connection = connection;
        this.#say.info({ servers }, 'connected to the bus');
        look();
        await closedOrAborted(connection, signal);
        attempt = 0;
      } catch (error) {
        const text = refusesCredential(error) ? turnedAway : 'cannot connect to the bus';
        this.#say.warn({ error: errorChain(error), attempt }, text);
      }
      await this.close();
      await pause(reconnectDelayMs(Math.max(1, attempt)), undefined, { signal }).catch(() => undefined);
    }
  }

  /** The node's last declaration. Never rejects: the host goes on with what it has. */
  async fetch(): Promise<Fetched> {
    if (this.#connection?.isConnected() !== true) return { kind: 'away' };
    try {
      const last = await lastDeclaration(this.#connection, this.#node.name);
      if (last === undefined) return { kind: 'none' };
      // What cannot be read is judged like any other that is no declaration, and refused by name.
      return { kind: 'came', envelope: 'envelope' in last ? last.envelope : undefined };
    } catch (error) {
      this.#say.warn({ error: errorChain(error) }, 'cannot ask for the declaration');
      return { kind: 'away' };
    }
  }

  /** Publishes a report; answers whether the bus keeps it. Never rejects: the next pass reports again. */
  async report(report: Report): Promise<boolean> {
    if (this.#connection?.isConnected() !== true) return false;
    try {
      await publishReport(this.#connection, fitReport(report, reportLimitBytes));
      return true;
    } catch (error) {
      this.#say.warn({ error: errorChain(error) }, 'the report was not taken');
      return false;
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  #heard(status: BusStatus, look: () => void): void {
    if (status.kind === 'reconnected') look();
    if (status.kind === 'denied') this.#say.error({ ...status }, 'the bus forbids what the host asks');
    else if (status.kind === 'error')
      this.#say.warn({ ...status }, refusesCredential(status.detail) ? turnedAway : 'a fault of the line to the bus');
    else this.#say.info({ status: status.kind }, 'the line to the bus');
  }
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
