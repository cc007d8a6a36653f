/** Keys of a bucket, for whoever may reach them: each read is a direct get of its own key, never a right to the stream (C79). */
import { createInbox, StringCodec, type Msg } from 'nats';
import type { BusConnection } from './connection.ts';
import { BusFault, busFault, refusalCode } from './faults.ts';
import { bucketName, bucketStream, putSubject, readBucketSubject } from './subjects.ts';

const wrongLastSequence = 10_071;
const text = StringCodec();
/** Tokens with dots between them. The server takes far more, and the client takes `a..b`, which then fails as if nobody served it (C77). */
const keyGrammar = /^[-/=\w]+(?:\.[-/=\w]+)*$/;

export type Bucket = {
  /** The key's value and revision; undefined when it was never put, or was deleted. */
  get(key: string): Promise<{ readonly value: string; readonly revision: number } | undefined>;
  /** Puts a value, whatever is there; answers its revision. */
  put(key: string, value: string): Promise<number>;
  /** Puts a value if the key still has this revision, 0 for a key that is not there; `conflict` when it moved. */
  replace(key: string, value: string, revision: number): Promise<number | 'conflict'>;
  delete(key: string): Promise<void>;
};

/** Opens a bucket that is there, without asking the server about it. Everything in it throws `BusFault`: `bad-key` before anything is sent. */
export async function openBucket(bus: BusConnection, bucket: string): Promise<Bucket> {
  const views = bus.nats.jetstream({ checkAPI: false }).views;
  const kv = await views.kv(bucketName.parse(bucket), { bindOnly: true, allow_direct: true });
  const doing = async <Answer>(key: string, run: () => Promise<Answer>): Promise<Answer> => {
    if (!keyGrammar.test(key)) {
      const what = `${JSON.stringify(key)} is no key: write letters, digits, "-", "_", "/" and "=", with single dots between`;
      throw new BusFault('bad-key', putSubject(bucket, key), what);
    }
    try {
      return await run();
    } catch (cause) {
      throw busFault(putSubject(bucket, key), cause);
    }
  };
  return {
    get: (key) =>
      doing(key, async () => {
        const entry = await kv.get(key);
        if (entry === null || entry.operation !== 'PUT') return undefined;
        return { value: text.decode(entry.value), revision: entry.revision };
      }),
    put: (key, value) => doing(key, () => kv.put(key, text.encode(value))),
    replace: (key, value, revision) =>
      doing(key, async () => {
        try {
          return revision === 0
            ? await kv.create(key, text.encode(value))
            : await kv.update(key, text.encode(value), revision);
        } catch (cause) {
          if (refusalCode(cause) === wrongLastSequence) return 'conflict';
          throw cause;
        }
      }),
    delete: (key) => doing(key, () => kv.delete(key)),
  };
}

export type WholeBucket = {
  /** Every key that is there, with its value and revision. */
  readonly entries: ReadonlyMap<string, { readonly value: string; readonly revision: number }>;
  /** The sequence of the last change of these keys. */
  readonly lastSequence: number;
};

const noStream = 10_059;

/** The sequence of a bucket's last change, for MESH; undefined where the bucket is not there. As long as it stays, nothing in it moved. */
export async function lastChange(mesh: BusConnection, bucket: string): Promise<number | undefined> {
  try {
    const manager = await mesh.nats.jetstreamManager({ checkAPI: false });
    return (await manager.streams.info(bucketStream(bucket))).state.last_seq;
  } catch (cause) {
    if (refusalCode(cause) === noStream) return undefined;
    throw busFault(bucketStream(bucket), cause);
  }
}

/** Calls `heard` with each key that anybody puts or deletes, for MESH, until stopped; at most once each: who must not miss one reads the bucket. */
export function onPut(mesh: BusConnection, bucket: string, heard: (key: string) => void): () => void {
  const prefix = putSubject(bucket, '');
  const subscription = mesh.nats.subscribe(putSubject(bucket, '>'), {
    callback(error, message) {
      // Not called from here: what a listener throws would end the client's reading for good, and unseen.
      if (error === null) queueMicrotask(() => heard(message.subject.slice(prefix.length)));
    },
  });
  return () => subscription.unsubscribe();
}

/** How many messages the server sends for one request, and how long it may pause between two of them. */
const batch = 500;
const pauseMs = 5_000;

/**
 * Reads a bucket as a whole, or the keys of a pattern (`*.route.*`), for those whose account may. By direct gets in
 * batches, never by a watch, which goes silent where its bucket was made anew (C76). Throws `BusFault`: `nobody` where the
 * bucket is not there.
 */
export async function readBucket(bus: BusConnection, bucket: string, keys = '>'): Promise<WholeBucket> {
  const entries = new Map<string, { value: string; revision: number }>();
  const prefix = putSubject(bucketName.parse(bucket), '');
  let lastSequence = 0;
  for (let isMore = true; isMore;) {
    const page = await requestBatch(bus, bucket, { keys, from: lastSequence + 1 });
    isMore = page.length === batch;
    for (const message of page) {
      const revision = Number(message.headers?.get('Nats-Sequence'));
      const key = (message.headers?.get('Nats-Subject') ?? '').slice(prefix.length);
      lastSequence = Math.max(lastSequence, revision);
      // A key that changed while it was read comes twice: the later page has the newer one.
      if (isDeletion(message)) entries.delete(key);
      else entries.set(key, { value: text.decode(message.data), revision });
    }
  }
  return { entries, lastSequence };
}

const isDeletion = ({ headers }: Msg): boolean => ['DEL', 'PURGE'].includes(headers?.get('KV-Operation') ?? '');

/** The next messages of the bucket from a sequence on, in their order; fewer than a batch when there are no more. */
function requestBatch(
  bus: BusConnection,
  bucket: string,
  { keys, from }: { readonly keys: string; readonly from: number },
): Promise<readonly Msg[]> {
  const subject = readBucketSubject(bucket);
  const inbox = createInbox(bus.inbox);
  const body = JSON.stringify({ seq: from, batch, next_by_subj: putSubject(bucket, keys) });
  return new Promise((resolve, reject) => {
    const found: Msg[] = [];
    const deaf = bus.onStatus((status) => {
      // A publish that is forbidden is told in the status alone.
      if (status.kind === 'denied' && status.subject === subject)
        end(new BusFault('denied', subject, `the bus forbids this credential ${subject}`));
    });
    const end = (fault?: BusFault): void => {
      clearTimeout(silence);
      deaf();
      subscription.unsubscribe();
      if (fault === undefined) resolve(found);
      else reject(fault);
    };
    const silence = setTimeout(
      () => end(new BusFault('timeout', subject, `the bucket ${bucket} was not answered in time`)),
      pauseMs,
    );
    const subscription = bus.nats.subscribe(inbox, {
      callback(error, message) {
        if (error !== null) return end(busFault(subject, error));
        silence.refresh();
        const code = message.headers?.code ?? 0;
        if (code === 0 || code === 200) return void found.push(message);
        // 204: that was all of this batch. 404: nothing is left.
        if (code === 204 || code === 404) return end();
        const reason = code === 503 ? 'nobody' : 'other';
        end(
          new BusFault(reason, subject, `the bucket ${bucket} answered ${code} ${message.headers?.description ?? ''}`),
        );
      },
    });
    bus.nats.publish(subject, body, { reply: inbox });
  });
}
