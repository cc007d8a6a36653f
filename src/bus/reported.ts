/** Told inside MESH once a report is recorded: it wakes who waits for that node. What counts is the row, never this. */
import { z } from 'zod';
import { outcome } from '../domain/report/report.ts';
import { nodeName, type NodeName } from '../domain/words/names.ts';
import type { BusConnection } from './connection.ts';
import { read, write } from './messages.ts';
import { type anyNode, reportedSubject } from './subjects.ts';

const reported = z.object({
  node: nodeName,
  boot: z.int().positive(),
  sequence: z.int().positive(),
  outcome,
  digest: z.string().optional(),
  number: z.int().optional(),
});
export type Reported = z.infer<typeof reported>;

/** Tells all controllers that a report was recorded. At most once: who waits looks at the row by itself as well. */
export function announceReported(mesh: BusConnection, of: Reported): void {
  mesh.nats.publish(reportedSubject(of.node), write(reported, of));
}

/** Calls `heard` for each recorded report of a node, or of all (`*`); answers the function that ends it. */
export function onReported(
  mesh: BusConnection,
  node: NodeName | typeof anyNode,
  heard: (of: Reported) => void,
): () => void {
  const subscription = mesh.nats.subscribe(reportedSubject(node), {
    callback(error, message) {
      // A subscription that ended has nothing to tell; the connection's status says why.
      if (error !== null) return;
      const told = read(reported, message.data);
      // Not called from here: what a listener throws would end the client's reading for good, and unseen.
      if ('value' in told) queueMicrotask(() => heard(told.value));
    },
  });
  return () => subscription.unsubscribe();
}
