/** Waits for an act as a person would: with a bound, saying what it waits for, and leaving it running when they go (U2). */
import { TemporalFailure, WorkflowFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { setMaxListeners } from 'node:events';
import { z } from 'zod';

import { controllerWorker } from '../../src/domain/act/workers.ts';
import { isRefusal, refusalKinds, type Refusal, type RefusalKind } from '../../src/domain/refusal/refusal.ts';
import { errorChain } from '../../src/domain/words/error-chain.ts';
import { tryingInWords, type Trying } from '../bodies/trying.ts';
import type { Context } from '../context.ts';
import { problem, problemOfRefusal, Stopped, type Problem } from '../problem.ts';
import { span } from '../render/time.ts';
import { isStoreDown } from '../store-fault.ts';
import type { StartedAct } from './start-act.ts';
import { promptly } from './temporal.ts';
import { atStep } from './trying.ts';

/** What the act's own record says of it now; undefined before its first step. */
export type ReadAct = (act: string) => Promise<{ readonly detail: Readonly<Record<string, unknown>> } | undefined>;

export type Following = {
  readonly client: Client;
  readonly timeoutMs: number;
  readonly context: Context;
  readonly readAct: ReadAct;
  /** Whether the store takes changes: what is wrong with it, where it does not. */
  readonly refusesWrites: () => Promise<Problem | undefined>;
};

/** After how long without a first step the missing worker is named (A15). */
const noWorkerAfterMs = 5_000;
const lookEveryMs = 250;
/** How often Temporal is asked what fails, once it takes longer than most do. */
const askEveryMs = 2_000;

/** Of an act's record: what it waits for, and which step keeps failing (A13). */
const waits = z.object({
  waitsFor: z.array(z.string()).catch([]),
  failing: z.string().catch(''),
});

/**
 * The act's result, read by `schema`. Ends the command otherwise: with the refusal it ended in; `act-failed`;
 * `wait-timed-out` or `no-worker` after `timeoutMs`; `interrupted` at Ctrl-C. In the last three it goes on by itself.
 */
export async function followAct<T>(
  started: StartedAct,
  schema: z.ZodType<T>,
  { client, timeoutMs, context, readAct, refusesWrites }: Following,
): Promise<T> {
  const { progress } = context;
  // The server is asked in one long call; whoever leaves must not wait for its end.
  const leaving = new AbortController();
  // The client listens to it anew with each long poll, and an act may be waited for as long as somebody likes.
  setMaxListeners(0, leaving.signal);
  const { workflow } = client;
  const result = settled(
    client.withAbortSignal(leaving.signal, () => workflow.result(started.workflowId, started.act)),
  );
  const interrupt = interrupted();
  const startedMs = Date.now();
  let begun = false;
  let saidNoWorker = false;
  /** Temporal, asked whether somebody has taken it up, did not answer. */
  let isUntold = false;
  let trying: Trying | undefined;
  let storeDown: Problem | undefined;
  let askedAtMs = 0;
  try {
    for (;;) {
      const came = await Promise.race([result, interrupt.happened, pause(lookEveryMs)]);
      if (came === 'interrupted') throw new Stopped(goesOn(started, 'interrupted'));
      if (came !== 'looked') {
        progress.clear();
        if ('failed' in came) throw stoppedBy(came.failed, started);
        return schema.parse(came.value);
      }
      // Neither a store nor a Temporal that is silent keeps whoever leaves from leaving.
      const look = await Promise.race([lookAt(started.act, readAct), interrupt.happened]);
      if (look === 'interrupted') throw new Stopped(goesOn(started, look));
      const row = 'row' in look ? look.row : undefined;
      const waitedMs = Date.now() - startedMs;
      begun ||= row !== undefined;
      if (waitedMs >= noWorkerAfterMs && waitedMs - askedAtMs >= askEveryMs) {
        askedAtMs = waitedMs;
        const asked = promptly(client, () => atStep(client, started.workflowId, started.act)).catch(() => undefined);
        const step = await Promise.race([asked, interrupt.happened]);
        if (step === 'interrupted') throw new Stopped(goesOn(started, step));
        isUntold = step === undefined;
        trying = step?.trying;
        // Somebody has taken it up, although nothing of it is written down yet.
        begun ||= step?.isTakenUp === true;
        storeDown = trying === undefined || 'down' in look ? undefined : await refusesWrites();
      }
      const down = 'down' in look ? look.down : storeDown;
      if (!begun && !isUntold && !saidNoWorker && down === undefined && waitedMs >= noWorkerAfterMs) {
        saidNoWorker = true;
        progress.say(nobodyWorks);
      }
      if (down !== undefined) progress.step(context.progressLook.paint.yellow(whileDown(down)));
      else if (trying !== undefined) progress.step(stillFailing(tryingInWords(trying), context));
      else if (row !== undefined) progress.step(stepOf(waits.parse(row.detail), context));
      if (waitedMs >= timeoutMs)
        throw new Stopped(
          begun || isUntold || down !== undefined
            ? timedOut(started, timeoutMs, { detail: row?.detail, trying, down, isUntold: isUntold && !begun })
            : noWorker(started),
        );
    }
  } finally {
    progress.clear();
    interrupt.forget();
    leaving.abort();
  }
}

/**
 * Waits until the act's first step has run, for at most five seconds. What keeps it from it, where it has not: the store, a step
 * that fails, or nobody is there to begin it (A15).
 */
export async function hasBegun(
  started: StartedAct,
  { client, readAct, refusesWrites }: Pick<Following, 'client' | 'readAct' | 'refusesWrites'>,
): Promise<'begun' | { readonly says: string; readonly nobodyWorksOn?: string }> {
  const until = Date.now() + noWorkerAfterMs;
  for (;;) {
    const look = await lookAt(started.act, readAct);
    if ('row' in look && look.row !== undefined) return 'begun';
    if (Date.now() >= until) {
      const { isTakenUp, trying } = await promptly(client, () => atStep(client, started.workflowId, started.act));
      const down = 'down' in look ? look.down : trying && (await refusesWrites());
      if (down !== undefined) return { says: whileDown(down) };
      if (trying !== undefined) return { says: `It does not begin: ${tryingInWords(trying)}` };
      return isTakenUp ? 'begun' : { says: nobodyWorks, nobodyWorksOn: controllerWorker.queue };
    }
    await pause(100);
  }
}

type Look = { readonly row: Awaited<ReturnType<ReadAct>> } | { readonly down: Problem };

/** The act's record. While the store is down the act goes on in Temporal, and whoever waits for it goes on waiting (U2). */
async function lookAt(act: string, readAct: ReadAct): Promise<Look> {
  try {
    return { row: await readAct(act) };
  } catch (thrown) {
    if (isStoreDown(thrown)) return { down: thrown.problem };
    throw thrown;
  }
}

/** The fault and the command that ends it, in one line of progress. */
const whileDown = ({ what, next }: Problem): string =>
  `Waiting for the store: ${what}${next[0] === undefined ? '' : ` (${next[0]})`}`;

/** C88. Which queue nobody works on, and what to start. */
const nobodyWorks = `Nothing is working on queue ${controllerWorker.queue}: no ${controllerWorker.role} has taken it up yet. Start one: ${controllerWorker.start}`;

/** What a person is told of an act that no controller has begun. */
export function noWorker({ workflowId, act }: StartedAct): Problem {
  const { queue, role, start } = controllerWorker;
  return problem('no-worker', {
    what: `nothing is working on queue ${queue}: no ${role} has taken ${workflowId} up`,
    why: 'the act is kept and begins as soon as a controller runs',
    next: [start, `mesh act show ${workflowId}`, 'mesh doctor'],
    facts: { act, workflowId, taskQueue: queue },
  });
}

type Settled = { readonly value: unknown } | { readonly failed: unknown };
function settled(result: Promise<unknown>): Promise<Settled> {
  return result.then(
    (value) => ({ value }),
    (failed: unknown) => ({ failed }),
  );
}

function pause(ms: number): Promise<'looked'> {
  return new Promise((resolve) => setTimeout(() => resolve('looked'), ms));
}

function interrupted(): { readonly happened: Promise<'interrupted'>; forget(): void } {
  let hear = (): void => undefined;
  const happened = new Promise<'interrupted'>((resolve) => {
    hear = () => resolve('interrupted');
  });
  process.on('SIGINT', hear);
  return { happened, forget: () => process.off('SIGINT', hear) };
}

const stillFailing = (what: string, { progressLook }: Context): string =>
  progressLook.paint.yellow(`Still failing: ${what}`);

function stepOf({ waitsFor, failing }: z.infer<typeof waits>, context: Context): string {
  if (failing !== '') return stillFailing(failing, context);
  const [first, ...more] = waitsFor;
  if (first === undefined) return 'Working…';
  return `Waiting for ${first}${more.length === 0 ? '' : ` and ${more.length} more`}`;
}

function goesOn({ workflowId, act }: StartedAct, kind: 'interrupted'): Problem {
  return problem(kind, {
    what: `you left; ${workflowId} goes on`,
    why: 'an act belongs to the mesh, not to the command that started it',
    next: [`mesh act show ${workflowId} --wait`, `mesh act cancel ${workflowId}`],
    facts: { act, workflowId },
  });
}

function timedOut(
  { workflowId, act }: StartedAct,
  timeoutMs: number,
  of: { detail: unknown; trying: Trying | undefined; down: Problem | undefined; isUntold: boolean },
): Problem {
  const { detail, trying, down, isUntold } = of;
  const { waitsFor } = waits.catch({ waitsFor: [], failing: '' }).parse(detail);
  const atWork = isUntold
    ? 'whether anybody has taken it up is not known: Temporal does not answer'
    : 'it is still working';
  const working = waitsFor.length === 0 ? atWork : `it waits for ${waitsFor.slice(0, 5).join('; ')}`;
  return problem('wait-timed-out', {
    what: `${workflowId} has not ended after ${span(timeoutMs)}; it goes on`,
    why: down?.what ?? (trying === undefined ? working : tryingInWords(trying)),
    next: [...(down?.next ?? []), `mesh act show ${workflowId} --wait`],
    facts: { act, workflowId, waitsFor, ...trying, ...(down === undefined ? {} : { storeDown: down.what }) },
  });
}

/** The types that steps end an act with when the rules say no; a contract with src/activities. */
const refusedTypes = new Set(['RotationRefused', 'PushRefused', 'RemovalRefused']);

function stoppedBy(failed: unknown, { workflowId, act }: StartedAct): unknown {
  const cause = failed instanceof WorkflowFailedError ? rootOf(failed.cause) : undefined;
  if (cause instanceof ApplicationFailure && refusedTypes.has(cause.type ?? '')) {
    const refusal: unknown = cause.details?.[0];
    if (isKnownRefusal(refusal)) return new Stopped(problemOfRefusal(refusal));
  }
  if (cause === undefined) return failed;
  const how =
    cause instanceof CancelledFailure
      ? 'was cancelled'
      : cause instanceof TerminatedFailure
        ? 'was terminated'
        : `failed: ${errorChain(cause)}`;
  return new Stopped(
    problem('act-failed', {
      what: `${workflowId} ${how}`,
      why: 'what it had done by then, and what not, stands in its record',
      next: [`mesh act show ${workflowId}`],
      facts: { act, workflowId },
    }),
  );
}

/** An activity's failure is wrapped in one that says which activity it was; the innermost says what happened. */
function rootOf(failure: Error | undefined): Error | undefined {
  let at = failure;
  while (at instanceof TemporalFailure && at.cause instanceof TemporalFailure) at = at.cause;
  return at;
}

function isKnownRefusal(value: unknown): value is Refusal {
  return isRefusal(value) && isKind(value.kind);
}
const isKind = (kind: string): kind is RefusalKind => Object.hasOwn(refusalKinds, kind);
