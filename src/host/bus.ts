/**
 * The host's line to the bus, with the node's own credential. It is tried for ever; meanwhile the host goes on with what
 * it has. Nothing that comes over it makes the host do more than look at its declaration (D25).
 */
import { lastDeclaration, onChanged } from '../bus/declarations.ts';
import { publishReport } from '../bus/reports.ts';
import { reportLimitBytes } from '../bus/streams.ts';
import { nodeCredential } from '../bus/token.ts';
import type { Report } from '../domain/report/report.ts';
import { errorChain } from './fault.ts';
import type { NodeKeys } from './keys.ts';
import { Line } from './line.ts';
import type { Say } from './log.ts';
import { fitReport } from './report.ts';
import type { NodeFile } from './state.ts';

/** `envelope` is what came as one: nothing in it is believed yet. */
export type Fetched =
  { readonly kind: 'away' } | { readonly kind: 'none' } | { readonly kind: 'came'; readonly envelope: unknown };

export class HostBus {
  readonly #node: NodeFile;
  readonly #say: Say;
  readonly #line = new Line();

  constructor(node: NodeFile, say: Say) {
    this.#node = node;
    this.#say = say;
  }

  /** Connects, and calls `look` whenever the node is told to look, and whenever the line is there (again). Returns when `signal` aborts. */
  keep(keys: NodeKeys, look: () => void, signal: AbortSignal): Promise<void> {
    const { name, servers, userJwt } = this.#node;
    return this.#line.keep(
      {
        servers,
        name: `host ${name}`,
        credential: nodeCredential({ node: name, userJwt }, keys.identity),
        say: this.#say,
        connected: (connection) => {
          onChanged(connection, name, look);
          look();
        },
        again: look,
      },
      signal,
    );
  }

  /** The node's last declaration. Never rejects: the host goes on with what it has. */
  async fetch(): Promise<Fetched> {
    const { connection } = this.#line;
    if (connection === undefined) return { kind: 'away' };
    try {
      const last = await lastDeclaration(connection, this.#node.name);
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
    const { connection } = this.#line;
    if (connection === undefined) return false;
    try {
      await publishReport(connection, fitReport(report, reportLimitBytes));
      return true;
    } catch (error) {
      this.#say.warn({ error: errorChain(error) }, 'the report was not taken');
      return false;
    }
  }

  close(): Promise<void> {
    return this.#line.close();
  }
}
