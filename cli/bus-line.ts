/** A command's line to the bus. */
import { connectBus, type BusConnection, type BusCredential } from '../src/bus/connection.ts';
import { refusesCredential } from '../src/bus/faults.ts';
import { greets } from '../src/foundation/nats.ts';

/** Connects. `withinMs`: how long that, and each request over the line, may take. Throws, saying why it cannot be used. */
export async function busLine(line: {
  readonly servers: readonly string[];
  readonly name: string;
  readonly credential: BusCredential;
  readonly withinMs?: number;
}): Promise<BusConnection> {
  const { name, credential, withinMs = 5_000 } = line;
  // Asked first, by a line of its own: the client's line to a server that takes it and says nothing is never let go of.
  const servers = await greeting(line.servers, withinMs);
  if (servers.length === 0) throw new Error('no NATS server greets there');
  return connectBus({ servers, name, credential, withinMs }).catch((cause: unknown) => {
    throw new Error(refusesCredential(cause) ? 'the bus refuses it' : 'it cannot be connected to', { cause });
  });
}

async function greeting(servers: readonly string[], withinMs: number): Promise<readonly string[]> {
  const asked = servers.map(async (server) => {
    const { hostname, port } = new URL(server);
    return (await greets(hostname, Number(port), { withinMs })) ? [server] : [];
  });
  return (await Promise.all(asked)).flat();
}
