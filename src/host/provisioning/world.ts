/**
 * What one pass of the provisioner client reads of the bus: each key once, each by a direct get of its own, and checked
 * before it is believed. What cannot be read is a fault of what asked for it, and of nothing else.
 */
import { openBucket, readBucket, type Bucket } from '../../bus/buckets.ts';
import type { BusConnection } from '../../bus/connection.ts';
import type { z } from 'zod';
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

  constructor(bus: BusConnection) {
    this.#bus = bus;
  }

  /** The bus itself, for verbs. */
  get bus(): BusConnection {
    return this.#bus;
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

  async #ask(bucket: string, key: string): Promise<Found<unknown>> {
    try {
      const opened = this.#buckets.get(bucket) ?? openBucket(this.#bus, bucket);
      this.#buckets.set(bucket, opened);
      const entry = await (await opened).get(key);
      if (entry === undefined) return { kind: 'absent' };
      return { kind: 'found', value: jsonOf(entry.value) };
    } catch (error) {
      return { kind: 'fault', says: errorChain(error) };
    }
  }

  async #askAll(bucket: string, pattern: string): Promise<Found<ReadonlyMap<string, unknown>>> {
    try {
      const { entries } = await readBucket(this.#bus, bucket, pattern);
      return { kind: 'found', value: new Map([...entries].map(([key, { value }]) => [key, jsonOf(value)])) };
    } catch (error) {
      return { kind: 'fault', says: errorChain(error) };
    }
  }
}

/** Undefined where it is no JSON, which no schema of ours takes. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
