/**
 * The host: one pass after the other, when it is told to look, when the bus is there again, when a process ended, and at
 * every interval (D13). A report follows every pass, unchanged ones included. It ends when `signal` aborts, and leaves
 * the processes running.
 */
import { realpath, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Capability } from '../domain/report/report.ts';
import { Bell } from './bell.ts';
import { HostBus } from './bus.ts';
import { findCapabilities } from './capabilities.ts';
import { errorChain } from './fault.ts';
import { readStatuses, watchGranters, type GranterWatch } from './granters.ts';
import { keysAt } from './keys.ts';
import { openLedger } from './ledger.ts';
import type { Say } from './log.ts';
import { Reconciler, sayWhatCame } from './pass.ts';
import type { Patience } from './processes/endings.ts';
import { Supervisor } from './processes/supervisor.ts';
import { ProvisionerClient } from './provisioning/client.ts';
import { composeReport, type Pass } from './report.ts';
import { countBoot, lockState, makeStateFolder, readNode, type NodeFile } from './state.ts';

export type Running = {
  readonly stateDir: string;
  /** What `/` of the node is on this machine. */
  readonly root: string;
  /** Default 60 s (D13). */
  readonly intervalMs?: number;
  /** The folder in which the program `mesh` lies, first in the processes' PATH. */
  readonly bin: string;
  readonly say: Say;
  /** Ends the host. */
  readonly signal: AbortSignal;
  readonly patience?: Partial<Patience>;
};

const usualIntervalMs = 60_000;
/** Capabilities change seldom, and finding them asks other programs. */
const capabilitiesForMs = 60_000;

/** Runs the host until `signal` aborts. Throws when the node has not joined, or another host has its state folder. */
export async function runHost(of: Running): Promise<void> {
  const { stateDir, say, signal } = of;
  const node = await readNode(stateDir);
  if (node === undefined) throw new Error(`${stateDir} holds no node: it has not joined a mesh yet`);
  await makeStateFolder(stateDir);
  const unlock = await lockState(stateDir);
  const bell = new Bell();
  const supervisor = new Supervisor({
    stateDir,
    say,
    turned: () => bell.ring(),
    ...(of.patience === undefined ? {} : { patience: of.patience }),
  });
  const bus = new HostBus(node, say);
  const stopping = new AbortController();
  signal.addEventListener('abort', () => supervisor.close(), { once: true });
  try {
    const keys = await keysAt(stateDir);
    const boot = await countBoot(stateDir);
    say.info({ node: node.name, boot, root: of.root }, 'the host starts');
    await supervisor.adopt();
    const surroundings = { root: await rootFolder(of.root), bin: of.bin, nodeFolder: path.dirname(process.execPath) };
    const client = new ProvisionerClient({ node, stateDir, root: surroundings.root, sealingKey: keys.sealing, say });
    const ledger = await openLedger(stateDir);
    const applying = { ledger, supervisor, sealingKey: keys.sealing, surroundings, client };
    const reconciler = new Reconciler({ stateDir, node, with: applying, say });
    await reconciler.takeUp();
    const ending = AbortSignal.any([signal, stopping.signal]);
    const look = (): void => bell.ring();
    const lines = Promise.all([bus.keep(keys, look, ending), client.keep(keys, look, ending)]);
    const reporter = new Reporter({ ...of, node, boot, root: surroundings.root, bus, reconciler });
    try {
      while (!signal.aborted) {
        const pass = await reconciler.pass(await bus.fetch(), await reporter.capabilities());
        // A pass that was cut short knows nothing worth saying.
        if (signal.aborted) break;
        sayWhatCame(say, pass);
        await reporter.report(pass);
        await bell.wait(of.intervalMs ?? usualIntervalMs, signal);
      }
    } finally {
      reporter.close();
      stopping.abort();
      await lines;
    }
  } finally {
    supervisor.close();
    await bus.close();
    await unlock();
    say.info({ node: node.name }, 'the host ends; what it started goes on');
  }
}

async function rootFolder(root: string): Promise<string> {
  await mkdir(root, { recursive: true });
  return realpath(root);
}

type Reporting = Running & {
  readonly node: NodeFile;
  readonly boot: number;
  readonly bus: HostBus;
  readonly reconciler: Reconciler;
};

/**
 * Says what the passes came to. A changed status file is reported at once with what the last pass came to, without a
 * pass of its own. Reports are made and sent one after the other, so that none is overtaken by one that knows less.
 */
class Reporter {
  readonly #of: Reporting;
  readonly #watch: GranterWatch;
  #sequence = 0;
  #last: Pass | undefined;
  #sending: Promise<void> = Promise.resolve();
  #found: { readonly capabilities: readonly Capability[]; readonly at: number } | undefined;

  constructor(of: Reporting) {
    this.#of = of;
    this.#watch = watchGranters(of.root, of.say, () => {
      if (this.#last !== undefined) void this.report(this.#last);
    });
  }

  /** What the machine can do. When the last look is old it is looked at anew, which the passes after this one see: asking other programs must hold up none. */
  async capabilities(): Promise<readonly Capability[]> {
    const known = this.#found;
    if (known === undefined) return this.#look();
    if (performance.now() - known.at > capabilitiesForMs) {
      this.#found = { ...known, at: performance.now() };
      void this.#look();
    }
    return known.capabilities;
  }

  async #look(): Promise<readonly Capability[]> {
    const capabilities = await findCapabilities();
    this.#found = { capabilities, at: performance.now() };
    return capabilities;
  }

  report(pass: Pass): Promise<void> {
    this.#last = pass;
    this.#sending = this.#sending
      .then(() => this.#send(pass))
      .catch((error: unknown) => {
        this.#of.say.error({ error: errorChain(error) }, 'cannot report');
      });
    return this.#sending;
  }

  close(): void {
    this.#watch.close();
  }

  async #send(pass: Pass): Promise<void> {
    const { node, boot, root, say, bus, reconciler, intervalMs } = this.#of;
    const followed = reconciler.declaration?.granters ?? [];
    this.#watch.follow(followed);
    const granters = await readStatuses(root, followed, say);
    this.#sequence += 1;
    const report = composeReport(pass, {
      node: node.name,
      boot,
      sequence: this.#sequence,
      intervalMs: intervalMs ?? usualIntervalMs,
      capabilities: await this.capabilities(),
      granters,
      stampedAt: new Date().toISOString(),
    });
    if (await bus.report(report)) this.#watch.told(granters);
  }
}
