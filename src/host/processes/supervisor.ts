/**
 * Supervised processes. They outlive the host: the next one adopts them by pid and start time (D13). A process is
 * started anew when it ended, when its own definition changed, or when the content of one of its restart-on files
 * changed, and for nothing else (D11).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { errorChain } from '../fault.ts';
import type { Say } from '../log.ts';
import { afterEnding, noEndings, unsteadyMs, usualPatience, type Endings, type Patience } from './endings.ts';
import type { LaunchSpec } from './launch-spec.ts';
import { isRunning, ranMs, unseenEnding, untilToldOfEnding, type Life } from './life.ts';
import { isAlive } from './proc.ts';
import { awaited, isReady, linesSince } from './ready.ts';
import * as records from './record.ts';
import { rotateLog, startShell } from './shell.ts';
import { endGroup } from './stop.ts';

/** `settled` ends when it is known whether the process runs as it should: with nothing, or with what went wrong. It never rejects. */
export type Ensured = {
  readonly did: 'nothing' | 'started' | 'restarted' | 'revived' | 'waits';
  readonly settled: Promise<string | undefined>;
  /** How it had ended, when it was revived. */
  readonly ended?: string;
};

type Memory = { life: Life; endings: Endings; timer?: NodeJS.Timeout };

export type Supervision = {
  readonly stateDir: string;
  readonly say: Say;
  /** Called when a process ended, and when the wait for one is over: it is time for a pass. */
  readonly turned: () => void;
  readonly patience?: Partial<Patience>;
};

export class Supervisor {
  readonly #stateDir: string;
  readonly #say: Say;
  readonly #turned: () => void;
  readonly #patience: Patience;
  readonly #memories = new Map<string, Memory>();
  #watch: NodeJS.Timeout | undefined;
  #closed = false;

  constructor({ stateDir, say, turned, patience }: Supervision) {
    this.#stateDir = stateDir;
    this.#say = say;
    this.#turned = turned;
    this.#patience = { ...usualPatience, ...patience };
  }

  /** Takes over the processes that earlier hosts started, and looks after them from now on. Once, before anything else. */
  async adopt(): Promise<void> {
    for (const key of await records.recordedKeys(this.#stateDir)) {
      const record = await records.readRecord(this.#stateDir, key);
      if (record === undefined) continue;
      const identity = await records.adoptOrForbid(this.#stateDir, record);
      const life: Life = { ended: unseenEnding, counted: false, ...(identity === undefined ? {} : { identity }) };
      if (identity === undefined || !(await isAlive(identity))) life.endedAt = performance.now();
      else this.#say.info({ process: key, pid: identity.pid }, 'adopted a process');
      this.#memories.set(key, { life, endings: noEndings });
    }
    // A process that this host did not start sends it no word when it ends.
    this.#watch = setInterval(() => {
      this.#lookAtAdopted().catch((error: unknown) =>
        this.#say.error({ error: errorChain(error) }, 'cannot look after processes'),
      );
    }, 250);
    this.#watch.unref();
  }

  /** Makes a process run as specified. Throws when the machine cannot start it. One call at a time. */
  async ensure(spec: LaunchSpec): Promise<Ensured> {
    if (this.#closed) return { did: 'waits', settled: Promise.resolve('the host is being stopped') };
    const record = await records.readRecord(this.#stateDir, spec.key);
    const memory = this.#memories.get(spec.key);
    if (record === undefined || memory === undefined)
      return { did: 'started', ...(await this.#start(spec, noEndings)) };
    if (isAnother(record, spec)) {
      await this.#end(record);
      return { did: 'restarted', ...(await this.#start(spec, noEndings)) };
    }
    if (!(await isRunning(memory.life))) return this.#revive(spec, record, memory);
    const kept = { ...record, stop: { ...spec.stop }, restartOn: { ...record.restartOn, ...spec.restartOn } };
    if (JSON.stringify(kept) !== JSON.stringify(record)) await records.writeRecord(this.#stateDir, kept);
    return {
      did: 'nothing',
      settled: record.ready ? Promise.resolve(this.#faultOf(memory)) : this.#settle(spec, kept, memory),
    };
  }

  /** Ends a process and forgets it; does nothing when there is none. */
  async stop(key: string): Promise<void> {
    const record = await records.readRecord(this.#stateDir, key);
    if (record !== undefined) await this.#end(record);
  }

  /** The pid of a process that has not ended. */
  pidOf(key: string): number | undefined {
    const life = this.#memories.get(key)?.life;
    return life?.endedAt === undefined ? life?.identity?.pid : undefined;
  }

  /** Looks after the processes no longer. They go on. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#watch);
    for (const { timer, life } of this.#memories.values()) {
      clearTimeout(timer);
      life.child?.removeAllListeners('exit');
    }
  }

  async #start(spec: LaunchSpec, endings: Endings): Promise<{ readonly settled: Promise<string | undefined> }> {
    await records.removePidFiles(this.#stateDir, spec.key);
    const record: records.ProcessRecord = {
      schema: 'mesh.host-process',
      version: 1,
      key: spec.key,
      launch: randomUUID(),
      definition: spec.definition,
      restartOn: { ...spec.restartOn },
      stop: { ...spec.stop },
      logOffset: await rotateLog(this.#stateDir, spec.key),
      startedAt: Date.now(),
      ready: false,
    };
    // On record before there is a process: whoever comes after a SIGKILL knows what to look for.
    await records.writeRecord(this.#stateDir, record);
    try {
      const child = await startShell(this.#stateDir, spec, record.launch);
      const life: Life = { child, startedAt: performance.now(), ended: unseenEnding, counted: false };
      const noteEnd = (code: number | null, signal: NodeJS.Signals | null): void =>
        this.#noteEnd(spec.key, life, code === null ? `by ${signal ?? 'a signal'}` : `with exit code ${code}`);
      const memory = { life, endings };
      this.#memories.set(spec.key, memory);
      this.#say.info({ process: spec.key, pid: child.pid }, 'started a process');
      // One that has ended by now says so no more.
      if (child.exitCode === null && child.signalCode === null) child.once('exit', noteEnd);
      else noteEnd(child.exitCode, child.signalCode);
      return { settled: this.#settle(spec, record, memory) };
    } catch (error) {
      this.#memories.delete(spec.key);
      await records.removeRecord(this.#stateDir, spec.key);
      throw error;
    }
  }

  async #settle(spec: LaunchSpec, record: records.ProcessRecord, memory: Memory): Promise<string | undefined> {
    try {
      const fault = await this.#untilRuns(spec, record, memory.life);
      if (fault === 'ended') return await this.#endedAtOnce(record, memory);
      if (fault !== undefined) return fault;
      await records.writeRecord(this.#stateDir, { ...record, ready: true });
      return this.#faultOf(memory);
    } catch (error) {
      return errorChain(error);
    }
  }

  /** Waits until a process that was started runs and is ready; answers what else happened instead. */
  async #untilRuns(spec: LaunchSpec, record: records.ProcessRecord, life: Life): Promise<string | undefined> {
    const { ready } = spec;
    const { settleMs, readyMs } = this.#patience;
    const log = records.logFile(this.#stateDir, spec.key);
    const deadline =
      performance.now() + (ready === undefined ? settleMs : Math.max(0, readyMs - (Date.now() - record.startedAt)));
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 1.5, 100)) {
      const identity = life.identity ?? (await records.launchedAs(this.#stateDir, record));
      if (identity !== undefined) life.identity = identity;
      if (!(await isRunning(life))) return 'ended';
      // Nothing is noted of it: the next host waits for it anew.
      if (this.#closed) return 'the host was stopped before it was known to run';
      const isTime = performance.now() >= deadline;
      if (identity !== undefined && (ready === undefined ? isTime : await isReady(ready, log, record)))
        return undefined;
      if (isTime && ready !== undefined) {
        return `it is not ready after ${readyMs} ms: waited in vain for ${awaited(ready)}; it runs, and has written ${await this.#said(record)} to its log`;
      }
      await pause(waitMs);
    }
  }

  async #endedAtOnce(record: records.ProcessRecord, memory: Memory): Promise<string> {
    await untilToldOfEnding(memory.life);
    this.#noteEnd(record.key, memory.life, unseenEnding);
    this.#count(memory, true);
    return `it ended at once, ${memory.life.ended}, having written ${await this.#said(record)} to its log`;
  }

  async #revive(spec: LaunchSpec, record: records.ProcessRecord, memory: Memory): Promise<Ensured> {
    this.#noteEnd(record.key, memory.life, unseenEnding);
    this.#count(memory, false);
    const waitMs = Math.ceil(memory.endings.notBefore - performance.now());
    const { ended } = memory.life;
    if (waitMs <= 0) return { did: 'revived', ended, ...(await this.#start(spec, memory.endings)) };
    this.#later(memory, waitMs);
    const times = memory.endings.count === 1 ? '' : ` (${memory.endings.count} times in a row)`;
    const error = `it ended ${ended}${times}, having written ${await this.#said(record)} to its log; it is started again in ${waitMs} ms`;
    return { did: 'waits', settled: Promise.resolve(error) };
  }

  async #end(record: records.ProcessRecord): Promise<void> {
    const memory = this.#memories.get(record.key);
    const identity = memory?.life.identity ?? (await records.adoptOrForbid(this.#stateDir, record));
    // What is ended on purpose is no ending to be counted or said.
    if (memory !== undefined) memory.life.endedAt ??= performance.now();
    clearTimeout(memory?.timer);
    this.#memories.delete(record.key);
    if (identity !== undefined) await endGroup(identity, record.stop);
    await records.removeRecord(this.#stateDir, record.key);
  }

  #noteEnd(key: string, life: Life, ended: string): void {
    if (life.endedAt !== undefined) return;
    life.endedAt = performance.now();
    life.ended = ended;
    this.#say.warn({ process: key, pid: life.identity?.pid, ended }, 'a process ended');
    this.#turned();
  }

  #count(memory: Memory, atOnce: boolean): void {
    const { life } = memory;
    if (life.counted) return;
    life.counted = true;
    const ending = { endedAt: life.endedAt ?? performance.now(), ranMs: ranMs(life), atOnce };
    memory.endings = afterEnding(memory.endings, ending, this.#patience);
    this.#later(memory, memory.endings.notBefore - performance.now());
  }

  /** What a process that runs has against it: that it kept ending, and has not run for long since. */
  #faultOf(memory: Memory): string | undefined {
    const remainsMs = unsteadyMs(memory.endings, ranMs(memory.life), this.#patience);
    if (remainsMs === 0) {
      if (memory.endings.count >= 2) memory.endings = noEndings;
      return undefined;
    }
    this.#later(memory, remainsMs);
    return `it ended ${memory.endings.count} times in a row and was started again; it counts as running once it has run for ${this.#patience.stableMs} ms`;
  }

  #later(memory: Memory, ms: number): void {
    clearTimeout(memory.timer);
    memory.timer = setTimeout(this.#turned, Math.max(0, ms) + 5);
    memory.timer.unref();
  }

  async #lookAtAdopted(): Promise<void> {
    for (const [key, { life }] of this.#memories) {
      if (life.child !== undefined || life.endedAt !== undefined || life.identity === undefined) continue;
      if (!(await isAlive(life.identity))) this.#noteEnd(key, life, unseenEnding);
    }
  }

  /** A report tells that there is something to read in the log, and how much, never what. */
  async #said(record: records.ProcessRecord): Promise<string> {
    const lines = await linesSince(records.logFile(this.#stateDir, record.key), record.logOffset);
    return `${lines} ${lines === 1 ? 'line' : 'lines'}`;
  }
}

/** Whether a process has to be started anew to be as specified (D11). A path it was not started with is no change. */
function isAnother(record: records.ProcessRecord, spec: LaunchSpec): boolean {
  if (record.definition !== spec.definition) return true;
  return Object.entries(spec.restartOn).some(
    ([path, digest]) => record.restartOn[path] !== undefined && record.restartOn[path] !== digest,
  );
}
