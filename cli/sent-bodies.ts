/**
 * What was last sent to nodes, read from their subjects: the mesh keeps it nowhere else (D4). The command is on the controller's
 * machine, so it makes itself a credential from the controller's keys, one that can read just this.
 */
import type { BusConnection } from '../src/bus/connection.ts';
import { lastDeclaration } from '../src/bus/declarations.ts';
import { declarationReader } from '../src/bus/identity.ts';
import type { NodeName } from '../src/domain/words/names.ts';
import { errorChain } from '../src/domain/words/error-chain.ts';
import { controllerKeysAt } from '../src/foundation/controller-keys.ts';
import type { Foundation } from '../src/foundation/foundation.ts';
import { busLine } from './bus-line.ts';

/** A body as it stands, undefined when nothing does; or why it cannot be known. */
export type SentBody = { readonly body: string | undefined } | { readonly why: string };

/** Reads the subject of each node. A bus that does not answer is an answer of its own: a plan is worth showing without. */
export async function sentBodies(
  { nats }: Foundation,
  stateFolder: string,
  nodes: readonly NodeName[],
): Promise<ReadonlyMap<NodeName, SentBody>> {
  if (nodes.length === 0) return new Map();
  const { bus } = await controllerKeysAt(stateFolder);
  const credential = await declarationReader(bus);
  const line = { servers: [nats.url], name: 'plan', credential };
  const connection = await busLine(line).catch((fault: unknown) => fault);
  if (!isConnection(connection)) {
    const why = `the bus at ${nats.url} cannot be used: ${errorChain(connection)}`;
    return new Map(nodes.map((node) => [node, { why }]));
  }
  try {
    const read = await Promise.all(nodes.map(async (node) => [node, await bodyOf(connection, node)] as const));
    return new Map(read);
  } finally {
    await connection.close();
  }
}

const isConnection = (tried: unknown): tried is BusConnection =>
  typeof tried === 'object' && tried !== null && 'nats' in tried;

async function bodyOf(connection: BusConnection, node: NodeName): Promise<SentBody> {
  try {
    const last = await lastDeclaration(connection, node);
    if (last === undefined) return { body: undefined };
    return 'envelope' in last ? { body: last.envelope.body } : { why: `it cannot be read: ${last.unreadable.reason}` };
  } catch (fault) {
    return { why: `the bus does not answer: ${errorChain(fault)}` };
  }
}
