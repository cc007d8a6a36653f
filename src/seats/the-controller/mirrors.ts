/**
 * The controller's mirrors: what the store says, kept in buckets for those who never open it. A reconciler: it is woken by
 * events, looks by itself as well, and writes differences alone. A mirror that was deleted, or that somebody else changed, or
 * that fell behind while no controller ran, is made right again, and it is said.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { WholeBucket } from '../../bus/buckets.ts';
import { differenceOf, isOfNodes, mirrorsOf, pendingBuilds, type Mirrors } from '../../domain/provisioning/mirrors.ts';
import { buckets } from '../../domain/provisioning/values.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import type { MirrorSnapshot, RelayRecords } from '../../operations/provisioning/relay.ts';

export type MirrorBus = {
  /** Makes the mirrors' buckets, and those of these providers' facts, where they are not there. */
  ensure(providers: readonly string[]): Promise<void>;
  read(bucket: string): Promise<WholeBucket>;
  /** The sequence of a bucket's last change; undefined where the bucket is not there. */
  lastSequence(bucket: string): Promise<number | undefined>;
  /** Expects the key to have this revision, 0 where it is not there. */
  put(bucket: string, key: string, value: string, revision: number): Promise<number | 'conflict'>;
  delete(bucket: string, key: string): Promise<void>;
};

export type MirrorPorts = {
  readonly records: RelayRecords;
  readonly bus: MirrorBus;
  readonly providersOf: (snapshot: MirrorSnapshot) => readonly string[];
  /** Told after each look at which keys of which buckets moved, `<bucket>/<key>`. */
  readonly onChanged: (
    changed: readonly string[],
    of: { readonly snapshot: MirrorSnapshot; readonly mirrors: Mirrors },
  ) => Promise<void> | void;
  readonly log: {
    warn(fields: object, text: string): void;
    error(fields: object, text: string): void;
  };
  /** How often it looks without being woken. */
  readonly everyMs?: number;
};

const lookEveryMs = 10_000;
const retryMs = 1_000;
const atOnce = 64;

/** Looks at once, and then whenever it is woken and at each interval, until `stop`. */
export function keepMirrors(ports: MirrorPorts): { wake(): void; stop(): Promise<void> } {
  const stopping = new AbortController();
  let woken = new AbortController();
  const everyMs = ports.everyMs ?? lookEveryMs;
  const keeping = new Keeping(ports);
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // Whoever wakes it from here on wants another look after this one.
      woken = new AbortController();
      let waitMs = everyMs;
      try {
        await keeping.look();
      } catch (error) {
        keeping.forget();
        waitMs = retryMs;
        ports.log.error({ err: error }, 'the mirrors could not be looked after; trying again');
      }
      // Being woken is what is waited for, so it is no fault.
      await pause(waitMs, undefined, { signal: AbortSignal.any([woken.signal, stopping.signal]) }).catch(
        () => undefined,
      );
    }
  };
  const done = run();
  return {
    wake: () => woken.abort(),
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

type Known = {
  readonly entries: Map<string, { readonly value: string; readonly revision: number }>;
  lastSequence: number;
};
type Change = { readonly bucket: string; readonly key: string; readonly value: string | undefined };

class Keeping {
  readonly #ports: MirrorPorts;
  /** What is in each bucket, as far as it was read or written here. */
  readonly #known = new Map<string, Known>();
  /** The store as it was at the last look; nothing was written since when it is the same. */
  #mark: string | undefined;
  #providers: readonly string[] | undefined;

  constructor(ports: MirrorPorts) {
    this.#ports = ports;
  }

  /** Everything is read anew at the next look. */
  forget(): void {
    this.#known.clear();
    this.#mark = undefined;
    this.#providers = undefined;
  }

  async look(): Promise<void> {
    const { records, providersOf, onChanged } = this.#ports;
    const drifted = await this.#drifted();
    if (drifted.size === 0 && this.#mark !== undefined && (await records.mark()) === this.#mark) return;
    const snapshot = await records.snapshot();
    await this.#ensure(providersOf(snapshot));
    const { mirrors, unresolvable } = mirrorsIn(snapshot);
    // What is there of a node that cannot be resolved stays (D5): its client would retire what it runs.
    const isOfUnresolvable = isOfNodes(unresolvable);
    const changes: Change[] = [];
    for (const [bucket, wanted] of mirrors) {
      const isKnown = this.#known.has(bucket);
      const { entries } = this.#known.get(bucket) ?? (await this.#read(bucket));
      const present = new Map([...entries].map(([key, { value }]) => [key, value]));
      const isKept = bucket === buckets.compositions ? undefined : isOfUnresolvable;
      const { puts, deletes } = differenceOf(present, wanted, isKept);
      const differing = [
        ...puts.map((put) => ({ bucket, ...put })),
        ...deletes.map((key) => ({ bucket, key, value: undefined })),
      ];
      if (differing.length > 0 && (!isKnown || drifted.has(bucket))) await this.#say(bucket, differing);
      changes.push(...differing);
    }
    await this.#write(changes);
    await records.relayed(snapshot.unrelayed);
    this.#mark = snapshot.mark;
    await onChanged(
      changes.map(({ bucket, key }) => `${bucket}/${key}`),
      { snapshot, mirrors },
    );
  }

  /** Buckets in which something moved that was not written here, or that are gone: read anew. */
  async #drifted(): Promise<ReadonlySet<string>> {
    const drifted = new Set<string>();
    for (const [bucket, known] of this.#known) {
      if ((await this.#ports.bus.lastSequence(bucket)) === known.lastSequence) continue;
      drifted.add(bucket);
      this.#known.delete(bucket);
      this.#providers = undefined;
    }
    return drifted;
  }

  async #ensure(providers: readonly string[]): Promise<void> {
    if (this.#providers !== undefined && providers.every((one) => this.#providers?.includes(one) === true)) return;
    await this.#ports.bus.ensure(providers);
    this.#providers = providers;
  }

  async #read(bucket: string): Promise<Known> {
    // Asked before it is read: what somebody writes meanwhile is drift at the next look.
    const lastSequence = (await this.#ports.bus.lastSequence(bucket)) ?? 0;
    const { entries } = await this.#ports.bus.read(bucket);
    const known = { entries: new Map(entries), lastSequence };
    this.#known.set(bucket, known);
    return known;
  }

  async #say(bucket: string, differing: readonly Change[]): Promise<void> {
    const written = differing.filter(({ value }) => value !== undefined).length;
    const detail = { bucket, written, deleted: differing.length - written };
    this.#ports.log.warn(detail, 'a mirror was not what the store says; it is made right again');
    await this.#ports.records.say({ kind: 'mirror-rebuilt', about: bucket, detail });
  }

  /**
   * The index of a node names keys that are there: so what it names is written before it, and deleted after it.
   * @throws when somebody else wrote meanwhile; then all is read anew.
   */
  async #write(changes: readonly Change[]): Promise<void> {
    const isIndex = ({ key }: Change): boolean => !key.includes('.');
    const puts = changes.filter(({ value }) => value !== undefined);
    const deletes = changes.filter(({ value }) => value === undefined);
    for (const stage of [
      puts.filter((one) => !isIndex(one)),
      puts.filter(isIndex),
      deletes.filter(isIndex),
      deletes.filter((one) => !isIndex(one)),
    ])
      for (let from = 0; from < stage.length; from += atOnce)
        await Promise.all(stage.slice(from, from + atOnce).map((change) => this.#writeOne(change)));
  }

  async #writeOne({ bucket, key, value }: Change): Promise<void> {
    const known = this.#known.get(bucket);
    if (known === undefined) throw new Error(`the mirror ${bucket} is not known`);
    if (value === undefined) {
      await this.#ports.bus.delete(bucket, key);
      known.entries.delete(key);
      known.lastSequence += 1;
      return;
    }
    const revision = await this.#ports.bus.put(bucket, key, value, known.entries.get(key)?.revision ?? 0);
    if (revision === 'conflict') throw new Error(`${key} of the mirror ${bucket} was written by somebody else`);
    known.entries.set(key, { value, revision });
    // Counted, not taken over: what somebody else wrote in between is one more, and so it is seen.
    known.lastSequence += 1;
  }
}

function mirrorsIn({ inventory, settings, publicDomains, labels, builds, modules }: MirrorSnapshot) {
  const addedAt = new Map(modules.map((row) => [row.module, row.addedAt.toISOString()]));
  const pending = pendingBuilds(inventory.modules, builds, (module) => addedAt.get(module) ?? '');
  return mirrorsOf({ inventory, resolution: resolve(inventory), settings, pending, publicDomains, labels });
}
