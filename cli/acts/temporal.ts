/** Acts as Temporal knows them: one connection, opened when a command first needs it. */
import { Client, Connection } from '@temporalio/client';

import { meshNamespace } from '../../src/domain/act/act.ts';
import type { Foundation } from '../../src/foundation/foundation.ts';

/** How long each question to Temporal may take, but for the one that waits for an act. */
const answersWithinMs = 10_000;

/** Asks it something that it answers at once. Errors: it does not, and then whether it did what was asked is not known. */
export async function promptly<T>(client: Client, ask: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + answersWithinMs, ask);
}

/** Connects as the person who asks, so that the UI names them (A12). Errors: nothing answers there in time. */
export async function connectTemporal(
  { address }: Foundation['temporal'],
  person: string,
  withinMs = 5_000,
): Promise<Client> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: withinMs });
    return new Client({ connection, namespace: meshNamespace, identity: person });
  } catch (cause) {
    throw new Error(`Temporal does not answer at ${address}`, { cause });
  }
}
