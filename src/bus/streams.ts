/**
 * The streams and buckets of MESH, with limits on each; the full one says so. None that a node may write allows
 * rollup, with which a node's own key erases the others'; none relies on message ids, which any of its writers could use
 * first, so the window in which the server compares them is as short as it allows.
 */
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  nanos,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
} from 'nats';
import type { BusConnection } from './connection.ts';
import { busFault, refusalCode } from './faults.ts';
import {
  anyNode,
  bucketName,
  bucketStream,
  busPayloadBytes,
  declarationsStream,
  declareSubject,
  putSubject,
  reportsConsumer,
  reportsStream,
  reportSubject,
} from './subjects.ts';

const mebibyte = 1024 * 1024;
/** What one report may weigh; the host shortens a longer one by rule (C81). A node has room for 100: 25 MiB. */
export const reportLimitBytes = mebibyte / 4;
/** How many reports of a node wait for the controller; older ones give way. */
export const reportsKept = 100;
/** The shortest that the server takes; 0 would mean two minutes. */
const duplicateWindow = nanos(100);
const nameInUse = 10_058;
const consumerExists = 10_148;
/** How long a controller that was killed keeps the reports it had in hand from the next one. A living one says in time that it still has them. */
const ackWaitMs = 5_000;

type Stream = Partial<StreamConfig> & Pick<StreamConfig, 'name'>;

const common = {
  storage: StorageType.File,
  allow_direct: true,
  allow_rollup_hdrs: false,
  duplicate_window: duplicateWindow,
  num_replicas: 1,
} satisfies Partial<StreamConfig>;

/** One message a node, the newest (D4). A full stream refuses the new one: it never gives up another node's. */
const declarations: Stream = {
  ...common,
  name: declarationsStream,
  subjects: [declareSubject(anyNode)],
  retention: RetentionPolicy.Limits,
  max_msgs_per_subject: 1,
  discard: DiscardPolicy.New,
  max_bytes: 1024 * mebibyte,
  max_msg_size: busPayloadBytes,
};

/** Kept until the controller has recorded them, to so many a node: the newest count most, so older ones give way. */
const reports: Stream = {
  ...common,
  name: reportsStream,
  subjects: [reportSubject(anyNode)],
  retention: RetentionPolicy.Workqueue,
  max_msgs_per_subject: reportsKept,
  discard: DiscardPolicy.Old,
  max_bytes: 512 * mebibyte,
  max_msg_size: reportLimitBytes,
};

/** Makes the streams of declarations and reports and the controller's consumer, or brings them to this shape. Safe to repeat. */
export async function ensureStreams(mesh: BusConnection): Promise<void> {
  const manager = await managerOf(mesh);
  await ensureStream(manager, declarations);
  await ensureStream(manager, reports);
  await ensureConsumer(manager);
}

async function ensureConsumer(manager: JetStreamManager): Promise<void> {
  // For ever: a report is recorded or kept aside as unreadable, never given up.
  const mayChange = { ack_wait: nanos(ackWaitMs), max_deliver: -1, max_ack_pending: 1024 };
  try {
    await manager.consumers.add(reportsStream, {
      ...mayChange,
      durable_name: reportsConsumer,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
    });
  } catch (cause) {
    // The same again is accepted; this means that it is there in another shape.
    if (refusalCode(cause) !== consumerExists) throw busFault(`${reportsStream}/${reportsConsumer}`, cause);
    await manager.consumers.update(reportsStream, reportsConsumer, mayChange).catch((again: unknown) => {
      throw busFault(`${reportsStream}/${reportsConsumer}`, again);
    });
  }
}

/**
 * Makes a KV bucket, or brings it to this shape: a history of one, no rollup, direct get, full ones refuse. A key is
 * put, changed by revision and deleted as usual; purging one key takes the stream's own API. Safe to repeat.
 */
export async function ensureBucket(
  mesh: BusConnection,
  bucket: string,
  limits: { readonly bytes: number; readonly valueBytes: number } = { bytes: 64 * mebibyte, valueBytes: mebibyte / 4 },
): Promise<void> {
  await ensureStream(await managerOf(mesh), {
    ...common,
    name: bucketStream(bucketName.parse(bucket)),
    subjects: [putSubject(bucket, '>')],
    retention: RetentionPolicy.Limits,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    deny_delete: true,
    max_bytes: limits.bytes,
    max_msg_size: limits.valueBytes,
  });
}

async function managerOf(mesh: BusConnection): Promise<JetStreamManager> {
  return mesh.nats.jetstreamManager({ checkAPI: false });
}

async function ensureStream(manager: JetStreamManager, stream: Stream): Promise<void> {
  try {
    await manager.streams.add(stream);
  } catch (cause) {
    // The same again is accepted; the name in use means that it is there in another shape.
    if (refusalCode(cause) !== nameInUse) throw busFault(stream.name, cause);
    await manager.streams.update(stream.name, stream).catch((again: unknown) => {
      throw busFault(stream.name, again);
    });
  }
}
