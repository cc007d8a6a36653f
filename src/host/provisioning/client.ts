/**
 * The node's provisioner client: with a bus account of its own it reads what the mesh says of this node's modules, fills their
 * files in, and writes what they need, have applied and contribute (6-provisioner). A reconciler: it keeps nothing but a
 * record of what it wrote.
 */
import { clientCredential } from '../../bus/token.ts';
import type { Declaration, FileResource } from '../../domain/declaration/declaration.ts';
import { decidePass, emptyRecord, passRecord, type Decision, type PassRecord } from '../../domain/provisioning/pass.ts';
import { quietPasses, recordWithout, settlePass, type PassWrites } from '../../domain/provisioning/settle.ts';
import type { Report } from '../../domain/report/report.ts';
import { given } from '../../domain/words/given.ts';
import { moduleName, type ModuleName } from '../../domain/words/names.ts';
import type { SealingKey } from '../../sealing/box.ts';
import type { Filling } from '../apply/site.ts';
import { errorChain } from '../fault.ts';
import type { NodeKeys } from '../keys.ts';
import { Line } from '../line.ts';
import type { Say } from '../log.ts';
import { readState, statePaths, writeState, type NodeFile } from '../state.ts';
import { fillingsOf } from './filling.ts';
import { outcomesOf } from './outcomes.ts';
import { admitPrograms, type KnownPrograms } from './programs.ts';
import { readMirrors } from './reads.ts';
import { doubted, isMissed } from './recall.ts';
import { World } from './world.ts';

/** What a pass knows before it applies: how each file is filled, and what is to be said afterwards. */
export type Prepared = {
  readonly filling: (resource: FileResource) => Filling;
  readonly postponed: NonNullable<Report['postponed']>;
  /** Writes what came of it; `failed`: the resources that are not as declared. Never rejects: the next pass makes it good. */
  settle(failed: ReadonlyMap<string, string>): Promise<void>;
};

export class ProvisionerClient {
  readonly #node: NodeFile;
  readonly #stateDir: string;
  readonly #sealingKey: SealingKey;
  readonly #say: Say;
  readonly #root: string;
  readonly #line = new Line();
  readonly #programs: KnownPrograms = new Map();
  /** How often the line to the bus was had, and for which time it was last seen that the bus has what was written. */
  #lines = 0;
  #recalled = 0;
  /** How often it was looked whether a bucket was emptied meanwhile. */
  #looks = 0;

  constructor(of: {
    readonly node: NodeFile;
    readonly stateDir: string;
    /** What `/` of the node is on this machine. */
    readonly root: string;
    readonly sealingKey: SealingKey;
    readonly say: Say;
  }) {
    this.#node = of.node;
    this.#stateDir = of.stateDir;
    this.#root = of.root;
    this.#sealingKey = of.sealingKey;
    this.#say = of.say;
  }

  /** Keeps the line to the bus; `look` whenever it is there (again). Returns when `signal` aborts. */
  async keep(keys: NodeKeys, look: () => void, signal: AbortSignal): Promise<void> {
    const { name, servers, clientJwt } = this.#node;
    if (clientJwt === undefined) return;
    const connected = (): void => {
      this.#lines += 1;
      look();
    };
    const credential = clientCredential({ node: name, clientJwt }, keys.client);
    const of = {
      servers,
      name: `provisioner client ${name}`,
      credential,
      say: this.#say,
      connected,
      again: connected,
    };
    await this.#line.keep(of, signal);
  }

  close(): Promise<void> {
    return this.#line.close();
  }

  /** Reads what this node's files are filled with. Never rejects: what could not be read is why a file waits. */
  async prepare(declaration: Declaration): Promise<Prepared> {
    const { connection } = this.#line;
    if (connection === undefined) {
      const why =
        this.#node.clientJwt === undefined ? withoutAccount : 'the bus is away, and what it holds cannot be asked';
      const postponed = stillPostponed((await this.#written()) ?? emptyRecord, why);
      return { filling: () => ({ kind: 'left', why }), postponed, settle: async () => undefined };
    }
    const world = new World(connection);
    const now = new Date().toISOString();
    const reads = await readMirrors(world, this.#node.name);
    // C76. The controller writes an index for every node: one that is gone takes nothing away, and is no small thing.
    if (reads.index === undefined && !world.isGone)
      this.#say.error({}, 'the bus holds no index of this node that can be read; until it does nothing is taken away');
    const record = await this.#known(world);
    const decisions = decidePass({ ...reads, record, now });
    const files = await fillingsOf({
      world,
      node: this.#node.name,
      declaration,
      reads,
      decisions: new Map(decisions.map((one) => [one.module, one])),
      sealingKey: this.#sealingKey,
    });
    return {
      filling: (resource) => files.get(resource.id)?.filling ?? { kind: 'unfillable', reason: 'it is not declared' },
      postponed: decisions.flatMap((one) => {
        if (one.kind === 'postpone') return one.passes > quietPasses ? [postponedIn(one)] : [];
        return one.kind === 'hold' ? stillPostponed(record, one.reason, one.module) : [];
      }),
      settle: async (failed) => {
        // Nothing can be written any more, and what was read is less than there is.
        if (world.isGone) return world.close();
        for (const fault of await admitPrograms(connection, declaration, this.#root, this.#programs))
          this.#say.warn({ fault }, "a provider's program has no account on the bus");
        const outcomes = outcomesOf({ decisions, declaration, files, reads, failed, record });
        const writes = settlePass({ node: this.#node.name, decisions, outcomes, record, now });
        await this.#write(world, record, writes).catch((error: unknown) => {
          this.#say.warn({ error: errorChain(error) }, unwritten);
        });
        world.close();
      },
    };
  }

  /**
   * The client's own record. One that is broken is said, and all is written anew; what was written of modules that are gone by
   * now is then nobody's to take away.
   */
  #written(): Promise<PassRecord | undefined> {
    return readState(this.#stateDir, statePaths.provisioner, passRecord).catch((error: unknown) => {
      this.#say.error(
        { error: errorChain(error) },
        'what this node wrote for the mesh is not known; it writes it anew',
      );
      return undefined;
    });
  }

  /** What was written, as far as it is there: a bus that was away may have come back without it, and one that was not may lose it. */
  async #known(world: World): Promise<PassRecord> {
    const record = await this.#written();
    const lines = this.#lines;
    if (record === undefined) return emptyRecord;
    if (this.#recalled === lines && !(await isMissed(world, record, this.#looks++))) return record;
    const recalled = await doubted(world, record);
    if (recalled.isCertain) this.#recalled = lines;
    return recalled.record;
  }

  /**
   * The record is kept before and after: a client that is killed between the two knows every key that it may have written. One key
   * that cannot be written, because it is too big or the bucket is full, holds up no other; it is tried again in the next pass.
   */
  async #write(world: World, record: PassRecord, writes: PassWrites): Promise<void> {
    const { puts, deletes, before } = writes;
    const undone = new Map<string, string>();
    const doing = async (
      { bucket, key }: { bucket: string; key: string },
      work: () => Promise<void>,
    ): Promise<void> => {
      try {
        await work();
      } catch (error) {
        // Which of the rest would be written is not known either: the record stays as it is.
        if (world.isGone) throw error;
        undone.set(`${bucket}/${key}`, errorChain(error));
      }
    };
    if (puts.length + deletes.length > 0) {
      await writeState(this.#stateDir, statePaths.provisioner, before);
      for (const put of puts) await doing(put, () => world.put(put.bucket, put.key, put.value));
      for (const gone of deletes) await doing(gone, () => world.delete(gone.bucket, gone.key));
    }
    if (undone.size > 0) this.#say.warn({ keys: Object.fromEntries(undone) }, unwritten);
    const after = recordWithout(writes, new Set(undone.keys()));
    if (JSON.stringify(after) !== JSON.stringify(record))
      await writeState(this.#stateDir, statePaths.provisioner, after);
  }
}

const unwritten = 'what this node needs, has applied and contributes could not all be written';

function postponedIn({
  module,
  since,
  build,
  reason,
}: Extract<Decision, { kind: 'postpone' }>): NonNullable<Report['postponed']>[number] {
  return { module, since, reason, ...given('waitsFor', build?.waitsFor) };
}

/** What was postponed when it could last be asked goes on being so, until it can be asked again. */
function stillPostponed({ modules }: PassRecord, why: string, only?: ModuleName): NonNullable<Report['postponed']> {
  return Object.entries(modules).flatMap(([name, { postponed }]) =>
    postponed !== undefined && postponed.passes > quietPasses && (only ?? name) === name
      ? [{ module: moduleName.parse(name), since: postponed.since, reason: `it was postponed before, and ${why}` }]
      : [],
  );
}

const withoutAccount = 'this node joined before there was a provisioner; take it out of the mesh and invite it again';
