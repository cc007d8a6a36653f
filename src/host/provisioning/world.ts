/**
 * The bus as one pass of the provisioner client has it: each key is read once, by a direct get of its own, and checked before it
 * is believed. What cannot be read is a fault of what asked for it, and of nothing else. When the bus goes away all that is
 * asked of it fails at once, until the pass ends: a pass holds up the whole host, and the next begins when the bus is back.
 */
import type { z } from 'zod';
import { openBucket, readBucket, type Bucket } from '../../bus/buckets.ts';
import type { BusConnection } from '../../bus/connection.ts';
import { verbSubject } from '../../bus/subjects.ts';
import { askSeat, askVerb, type Refused, type Verb } from '../../bus/verbs.ts';
import type { PartName } from '../../domain/words/names.ts';
import { errorChain } from '../fault.ts';

/** `absent`: nothing is there. `fault`: it could not be read, or is not what belongs there. */
export type Found<Value> =
  | { readonly kind: 'found'; readonly value: Value }
  | { readonly kind: 'absent' }
  | { readonly kind: 'fault'; readonly says: string };

export class World {
  readonly #bus: BusConnection;
  readonly #buckets = new Map<string, Promise<Bucket>>();
  readonly #read = new Map<string, Promise<Found<unknown>>>();
  readonly #gathered = new Map<string, Promise<Found<ReadonlyMap<string, unknown>>>>();

  readonly #gone: Promise<never>;
  readonly #deaf: () => void;
  #isGone = false;

  constructor(bus: BusConnection) {
    this.#bus = bus;
    const { promise, reject } = withReject();
    this.#gone = promise;
    this.#deaf = bus.onStatus(({ kind }) => {
      if (kind !== 'disconnected') return;
      this.#isGone = true;
      reject(new Error('the bus went away'));
    });
    // Whoever asks hears of it; nobody may be asking.
    promise.catch(() => undefined);
  }

  /** Whether the bus went away since the pass began. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** To be called when the pass ends. */
  close(): void {
    this.#deaf();
  }

  /** Asks a verb, as `askVerb` does. */
  ask<Request extends z.ZodType, Answer extends z.ZodType>(
    verb: Verb<Request, Answer>,
    request: z.input<Request>,
  ): Promise<z.output<Answer> | Refused> {
    return this.#unlessGone(() => askVerb(this.#bus, verb, request));
  }

  /** Asks a verb of which only the name is known. */
  askByName(seat: PartName, verb: string, request: object): ReturnType<typeof askSeat> {
    const body = new TextEncoder().encode(JSON.stringify(request));
    return this.#unlessGone(() => askSeat(this.#bus, verbSubject(seat, verb), body));
  }

  /** Throws what the bus throws; when it goes away meanwhile, it may have been put. */
  async put(bucket: string, key: string, value: string): Promise<void> {
    await this.#unlessGone(async () => (await this.#open(bucket)).put(key, value));
  }

  /** As `put`. */
  delete(bucket: string, key: string): Promise<void> {
    return this.#unlessGone(async () => (await this.#open(bucket)).delete(key));
  }

  /** The value of a key, by the schema of what belongs there. */
  async get<Value>(bucket: string, key: string, schema: z.ZodType<Value>): Promise<Found<Value>> {
    const name = `${bucket} ${key}`;
    const asked = this.#read.get(name) ?? this.#ask(bucket, key);
    this.#read.set(name, asked);
    const found = await asked;
    if (found.kind !== 'found') return found;
    const parsed = schema.safeParse(found.value);
    if (parsed.success) return { kind: 'found', value: parsed.data };
    return { kind: 'fault', says: `${bucket} ${key} holds what does not belong there` };
  }

  /** Every key of a pattern, with its JSON value. */
  gather(bucket: string, pattern: string): Promise<Found<ReadonlyMap<string, unknown>>> {
    const name = `${bucket} ${pattern}`;
    const asked = this.#gathered.get(name) ?? this.#askAll(bucket, pattern);
    this.#gathered.set(name, asked);
    return asked;
  }

  #open(bucket: string): Promise<Bucket> {
    const opened = this.#buckets.get(bucket) ?? openBucket(this.#bus, bucket);
    this.#buckets.set(bucket, opened);
    return opened;
  }

  #unlessGone<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return this.#isGone ? this.#gone : Promise.race([work(), this.#gone]);
  }

  async #ask(bucket: string, key: string): Promise<Found<unknown>> {
    try {
      const entry = await this.#unlessGone(async () => (await this.#open(bucket)).get(key));
      if (entry === undefined) return { kind: 'absent' };
      return { kind: 'found', value: jsonOf(entry.value) };
    } catch (error) {
      return { kind: 'fault', says: errorChain(error) };
    }
  }

  async #askAll(bucket: string, pattern: string): Promise<Found<ReadonlyMap<string, unknown>>> {
    try {
      const { entries } = await this.#unlessGone(() => readBucket(this.#bus, bucket, pattern));
      return { kind: 'found', value: new Map([...entries].map(([key, { value }]) => [key, jsonOf(value)])) };
    } catch (error) {
      return { kind: 'fault', says: errorChain(error) };
    }
  }
}

function withReject(): { readonly promise: Promise<never>; readonly reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<never>((_, rejects) => {
    reject = rejects;
  });
  return { promise, reject };
}

/** Undefined where it is no JSON, which no schema of ours takes. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
