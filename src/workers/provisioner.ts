/**
 * The provisioner's process: holds the seat `mesh-provisioner` (P3), and while it does, compiles the registry at its start,
 * hourly and on demand (A5, P6), and answers its verbs (P14). It has a bus account and a task queue of its own, and opens no
 * store: what it works on it reads from the bus.
 */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createRegistryActivities, type RegistryBus } from '../activities/registry.ts';
import { provisionerSeat } from '../bus/accounts.ts';
import { openBucket, readBucket } from '../bus/buckets.ts';
import { connectBus, type BusConnection } from '../bus/connection.ts';
import { askVerb, isRefused } from '../bus/verbs.ts';
import { provisionerQueue } from '../domain/act/registry.ts';
import { buckets } from '../domain/provisioning/values.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import type { ModuleName } from '../domain/words/names.ts';
import { readFoundation, type Foundation } from '../foundation/foundation.ts';
import { readSeatCredential } from '../foundation/seat-keys.ts';
import { serveProvisionerSeat } from '../seats/mesh-provisioner/serve.ts';
import { holdSeatVerb, leaveSeatVerb } from '../seats/the-controller/verbs.ts';
import { beatForShortSteps } from './beats.ts';
import { compileAtStart, keepSchedule } from './registry-schedule.ts';
import { serving, startTemporalWorker, workflowBundle } from './temporal-worker.ts';

export type ProvisionerAsked = {
  readonly stateDir: string;
  readonly logger: Logger;
  /** Aborted: the seat is given up, and the process may end. */
  readonly signal: AbortSignal;
  /** Which module holds the seat, on which node. */
  readonly module: ModuleName;
  readonly node: string;
  /** How long the seat stays this process's without a word from it, ms. */
  readonly leaseMs: number;
  /** The bundle of workflows, where it is not beside the compiled sources. */
  readonly bundle?: string;
  /** Told once: it serves, or it stands by. */
  readonly onReady?: (state: 'held' | 'waits') => void;
};

/** Serves or stands by until `signal`. Refusal: `seat-held`, by another module. Errors: no mesh was raised here; the controller made no account. */
export async function runProvisioner(asked: ProvisionerAsked): Promise<Refusal | undefined> {
  const foundation = await readFoundation(asked.stateDir);
  if (foundation === undefined) throw new Error(`no mesh was raised in ${asked.stateDir}`);
  const known = await readSeatCredential(path.join(asked.stateDir, provisionerSeat));
  if (known === undefined)
    throw new Error('the controller has not made the account of the provisioner: start it first');
  const bus = await connectBus({
    ...known,
    name: 'provisioner',
    patient: true,
    onStatus: (status) =>
      asked.logger[status.kind === 'denied' || status.kind === 'error' ? 'error' : 'info']({ ...status }, 'the bus'),
  });
  const seat = new HeldSeat(asked, bus, foundation);
  try {
    return await seat.keep();
  } finally {
    await seat.stopServing();
    await bus.close();
  }
}

/** What a process that has the seat runs; ended when it has it no more. */
type Served = { stop(): Promise<void>; readonly ended: Promise<void> };

class HeldSeat {
  readonly #asked: ProvisionerAsked;
  readonly #bus: BusConnection;
  readonly #foundation: Foundation;
  readonly #holder: { readonly module: ModuleName; readonly node: string; readonly process: string };
  #served: Served | undefined;

  constructor(asked: ProvisionerAsked, bus: BusConnection, foundation: Foundation) {
    this.#asked = asked;
    this.#bus = bus;
    this.#foundation = foundation;
    // A process is one start of it: a pid comes again.
    this.#holder = { module: asked.module, node: asked.node, process: `${process.pid}/${randomUUID()}` };
  }

  /** Asks for the seat again and again: three times within its lease, so that one answer may be lost. */
  async keep(): Promise<Refusal | undefined> {
    const { logger, signal, leaseMs } = this.#asked;
    let heldUntil = 0;
    let said: string | undefined;
    while (!signal.aborted) {
      const askedAt = performance.now();
      const answer = await this.#ask();
      if (answer === 'refused-for-good') return this.#refusal;
      const state = answer?.state ?? 'no answer';
      if (state === 'held') heldUntil = askedAt + leaseMs;
      // Without an answer it serves on as long as the lease surely goes on, and not a moment longer.
      const isHeld = state === 'held' || (state === 'no answer' && performance.now() < heldUntil - leaseMs / 6);
      if (!isHeld) await this.stopServing();
      else if (this.#served === undefined) await this.#tryToServe();
      if (state !== said) logger.info({ state, holder: answer?.holder }, 'the seat');
      if (answer !== undefined && said === undefined) this.#asked.onReady?.(answer.state);
      said = answer === undefined ? said : state;
      const waitMs = state === 'waits' ? Math.min(answer?.forMs ?? leaseMs, leaseMs / 3) : leaseMs / 3;
      // What it serves may end by itself; being told to end is what is waited for otherwise, so it is no fault.
      await Promise.race([pause(Math.max(50, waitMs), undefined, { signal }).catch(() => undefined), this.#broke()]);
    }
    await this.stopServing();
    await askVerb(this.#bus, leaveSeatVerb, this.#holder).catch((error: unknown) =>
      logger.warn({ err: error }, 'the seat could not be given up; its lease ends by itself'),
    );
    return undefined;
  }

  #refusal: Refusal | undefined;

  async #ask() {
    const { leaseMs, logger } = this.#asked;
    try {
      const answer = await askVerb(this.#bus, holdSeatVerb, { ...this.#holder, leaseMs }, { timeoutMs: leaseMs / 3 });
      if (!isRefused(answer)) return answer;
      if (answer.refused.kind === 'try-later') return undefined;
      this.#refusal = seatHeld(answer.refused.what, answer.refused.facts);
      return 'refused-for-good';
    } catch (error) {
      logger.warn({ err: error }, 'the controller does not say whose the seat is');
      return undefined;
    }
  }

  /** What it stands on may be away for a while: it tries again with each word of the lease. */
  async #tryToServe(): Promise<void> {
    try {
      await this.#serve();
    } catch (error) {
      this.#asked.logger.error({ err: error }, 'the provisioner cannot serve; trying again');
      await this.stopServing();
    }
  }

  async #serve(): Promise<void> {
    const { logger, bundle = workflowBundle } = this.#asked;
    const { address } = this.#foundation.temporal;
    const worker = await startTemporalWorker({
      address,
      taskQueue: provisionerQueue,
      bundle,
      activities: createRegistryActivities({ bus: await registryBus(this.#bus) }),
      interceptors: [beatForShortSteps],
      logger,
    });
    const verbs = await serveProvisionerSeat({
      bus: this.#bus,
      read: async (bucket) => valuesOf(await readBucket(this.#bus, bucket)),
      onFault: (fault) => logger.error({ err: fault }, 'a verb could not be answered'),
    });
    this.#served = {
      ended: worker.ended,
      async stop() {
        await verbs.stop();
        worker.shutdown();
        await worker.ended;
        await worker.close();
      },
    };
    await keepSchedule(address, logger);
    await compileAtStart(address);
    logger.info(serving(provisionerQueue, address), 'the provisioner serves');
  }

  /** Rejects when what it serves breaks. */
  async #broke(): Promise<void> {
    if (this.#served === undefined) return new Promise(() => undefined);
    await this.#served.ended;
    return undefined;
  }

  async stopServing(): Promise<void> {
    const served = this.#served;
    this.#served = undefined;
    await served?.stop();
  }
}

const valuesOf = ({ entries }: Awaited<ReturnType<typeof readBucket>>): ReadonlyMap<string, string> =>
  new Map([...entries].map(([key, { value }]) => [key, value]));

async function registryBus(bus: BusConnection): Promise<RegistryBus> {
  const registry = await openBucket(bus, buckets.registry);
  return {
    compositions: async () => (await readBucket(bus, buckets.compositions)).entries,
    registry: async () => (await readBucket(bus, buckets.registry)).entries,
    put: (key, value, revision) => registry.replace(key, value, revision),
    delete: (key) => registry.delete(key),
  };
}

function seatHeld(what: string, facts: Readonly<Record<string, string>> = {}): Refusal {
  return {
    kind: 'seat-held',
    what,
    why: 'two that compile the registry would undo what the other did',
    next: ['mesh ask the-controller', 'stop the other one, or start this one as a process of the same module and node'],
    facts,
  };
}
