/**
 * Keeps the facts of a provider's bindings on the bus. It runs beside the granting and never holds it up: with no account, with no
 * bus and with one that refuses, the granter grants as ever (S8), and this is tried again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openBucket, type Bucket } from '../bus/buckets.ts';
import type { BusConnection } from '../bus/connection.ts';
import { BusFault } from '../bus/faults.ts';
import { bound, boundBucket } from '../domain/provisioning/values.ts';
import { errorChain } from '../domain/words/error-chain.ts';
import { Line } from '../host/line.ts';
import type { BoundFacts } from './bound-facts.ts';
import { createRetries } from './postgres/retries.ts';
import { accessMark, readAccess } from './program-access.ts';

export type KeptFacts = {
  /** The facts may be others now. */
  changed(): void;
  /** Resolves when `signal` aborted and the connection is closed. */
  readonly ended: Promise<void>;
};

export type KeepFacts = {
  /** Where the host keeps the program's account. */
  readonly folder: string;
  /** The facts as they are now; undefined while they are not known, which changes nothing on the bus. */
  readonly facts: () => BoundFacts | undefined;
  readonly say: { info(fields: object, text: string): void; warn(fields: object, text: string): void };
  readonly signal: AbortSignal;
};

const lookEveryMs = 150;
/** Somebody else may have changed what was written: a bus that lost a bucket, or another provider of the same consumers. */
const checkEveryMs = 30_000;

/** Keeps them until `signal` aborts. Never rejects. */
export function keepFacts(of: KeepFacts): KeptFacts {
  const keeping = new Keeping(of);
  return { changed: () => keeping.changed(), ended: keeping.run() };
}

type Joined = { readonly end: () => Promise<void>; connection(): BusConnection | undefined };

class Keeping {
  readonly #of: KeepFacts;
  #wake = (): void => undefined;
  /** The files that this account is from; what cannot be read is not read again until it is another. */
  #mark: string | undefined;
  #joined: Joined | undefined;
  #bucket: { readonly connection: BusConnection; readonly bucket: Bucket } | undefined;
  #module = '';
  /** Key → what stands there, as far as it was read or written over this connection. */
  readonly #standing = new Map<string, string>();
  /** Keys of which nothing is left to take away, or which this account may not any more: then whoever may does. */
  readonly #taken = new Set<string>();
  #retries = createRetries(() => performance.now());
  #isDue = true;
  #checkedMs = 0;
  #said: string | undefined;

  constructor(of: KeepFacts) {
    this.#of = of;
  }

  changed(): void {
    this.#isDue = true;
    this.#wake();
  }

  async run(): Promise<void> {
    const { signal } = this.#of;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const heard = new Promise<void>((resolve) => (this.#wake = resolve));
      try {
        await this.#look();
      } catch (error) {
        this.#tell(errorChain(error));
      }
      // An ending is what wakes it too, so that an aborted wait says nothing more.
      if (!signal.aborted)
        await Promise.race([pause(lookEveryMs, undefined, { signal }).catch(() => undefined), heard]);
    }
    await this.#joined?.end();
  }

  async #look(): Promise<void> {
    await this.#join();
    const connection = this.#joined?.connection();
    if (connection === undefined) return;
    if (this.#bucket?.connection !== connection) {
      this.#bucket = { connection, bucket: await openBucket(connection, boundBucket(this.#module)) };
      this.#forget();
    }
    if (performance.now() - this.#checkedMs > checkEveryMs) this.#forget();
    if (!this.#isDue) return;
    this.#isDue = false;
    const facts = this.#of.facts();
    if (facts !== undefined) await this.#keep(this.#bucket.bucket, facts);
  }

  /** All is read again. */
  #forget(): void {
    this.#standing.clear();
    this.#retries = createRetries(() => performance.now());
    this.#isDue = true;
    this.#checkedMs = performance.now();
  }

  /** Goes by the account that is there now. */
  async #join(): Promise<void> {
    const mark = accessMark(this.#of.folder);
    if (mark === this.#mark) return;
    this.#mark = mark;
    await this.#joined?.end();
    this.#joined = undefined;
    if (mark === undefined) return;
    const { module, name, servers, credential } = await readAccess(this.#of.folder);
    this.#module = module;
    const { say } = this.#of;
    const warn = (fields: object, text: string): void => say.warn(fields, text);
    const ending = new AbortController();
    const line = new Line();
    const again = (): void => {
      this.#forget();
      this.#wake();
    };
    const kept = line.keep(
      {
        servers,
        name,
        credential,
        say: { info: (fields, text) => say.info(fields, text), warn, error: warn },
        connected: again,
        again,
      },
      AbortSignal.any([ending.signal, this.#of.signal]),
    );
    this.#joined = {
      connection: () => line.connection,
      async end() {
        ending.abort();
        await kept;
      },
    };
  }

  async #keep(bucket: Bucket, { wanted, gone, at }: BoundFacts): Promise<void> {
    const faults: string[] = [];
    const doing = async (key: string, about: string, work: () => Promise<void>): Promise<void> => {
      if (this.#retries.mayTry(key, about))
        try {
          await work();
          return this.#retries.succeeded(key);
        } catch (error) {
          this.#retries.failed(key, about);
          faults.push(errorChain(error));
        }
      // Looked at again at the next turn, and tried when its time has come.
      this.#isDue = true;
    };
    for (const [key, text] of wanted) {
      this.#taken.delete(key);
      if (this.#standing.get(key) === text) continue;
      await doing(key, text, async () => {
        if ((await bucket.get(key))?.value !== text) await bucket.put(key, text);
        this.#standing.set(key, text);
      });
    }
    for (const key of gone)
      if (!this.#taken.has(key))
        await doing(key, 'gone', async () => {
          await takeAway(bucket, key, at);
          this.#taken.add(key);
          this.#standing.delete(key);
        });
    if (faults.length > 0) this.#tell(faults[0]);
    else if (!this.#isDue) this.#tell(undefined);
  }

  /** Says a fault when it comes and when it is over. */
  #tell(fault: string | undefined): void {
    if (fault === this.#said) return;
    this.#said = fault;
    if (fault !== undefined)
      this.#of.say.warn({ fault }, 'the facts of its bindings cannot be told on the bus; it is tried again');
    else this.#of.say.info({}, 'the facts of its bindings stand on the bus');
  }
}

/** Takes one's own facts away, unless another provider's stand there by now. One that may not leaves them to whoever took its right. */
async function takeAway(bucket: Bucket, key: string, { host, port }: BoundFacts['at']): Promise<void> {
  try {
    const standing = await bucket.get(key);
    if (standing === undefined) return;
    const facts = bound.safeParse(JSON.parse(standing.value));
    if (facts.success && facts.data.host === host && facts.data.port === port) await bucket.delete(key);
  } catch (error) {
    if (!(error instanceof BusFault && (error.reason === 'nobody' || error.reason === 'denied'))) throw error;
  }
}
