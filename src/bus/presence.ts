/** Whether what the controller makes on the bus is there. Looks, and makes nothing. */
import { buckets } from '../domain/provisioning/values.ts';
import type { BusConnection } from './connection.ts';
import { busFault } from './faults.ts';
import { bucketStream, declarationsStream, reportsConsumer, reportsStream } from './subjects.ts';

/**
 * The streams, buckets and consumers of MESH that the controller makes at its start and that are not there, as people know them.
 * Throws `BusFault`, also where the account has no JetStream.
 */
export async function missingOnBus(mesh: BusConnection, withinMs: number): Promise<readonly string[]> {
  try {
    const manager = await mesh.nats.jetstreamManager({ checkAPI: false, timeout: withinMs });
    const there = new Set<string>();
    for await (const name of manager.streams.names()) there.add(name);
    const consumers = there.has(reportsStream) ? await manager.consumers.list(reportsStream).next() : [];
    return [
      ...[declarationsStream, reportsStream].filter((stream) => !there.has(stream)).map((name) => `stream ${name}`),
      ...(consumers.some(({ name }) => name === reportsConsumer)
        ? []
        : [`consumer ${reportsStream}/${reportsConsumer}`]),
      ...Object.values(buckets)
        .filter((bucket) => !there.has(bucketStream(bucket)))
        .map((name) => `bucket ${name}`),
    ];
  } catch (cause) {
    throw busFault('$JS.API', cause);
  }
}
