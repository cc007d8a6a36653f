/** Keys of a bucket, for whoever may reach them: each read is a direct get of its own key, never a right to the stream (C79). */
import { StringCodec } from 'nats';
import type { BusConnection } from './connection.ts';
import { BusFault, busFault, refusalCode } from './faults.ts';
import { bucketName, putSubject } from './subjects.ts';

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
