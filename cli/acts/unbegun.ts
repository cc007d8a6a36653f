/** Acts that Temporal knows and the store does not: nobody took them up, or their first step does not go through. */
import type { Client } from '@temporalio/client';

import { controllerQueue } from '../../src/domain/act/act.ts';
import { errorChain } from '../../src/domain/words/error-chain.ts';
import { uiLink } from '../bodies/act.ts';
import type { Trying } from '../bodies/trying.ts';
import type { Controller } from '../controller.ts';
import type { Problem } from '../problem.ts';
import { rfc3339 } from '../render/time.ts';
import { connectTemporal } from './temporal.ts';
import { atStep } from './trying.ts';

export type Unbegun = {
  readonly act: string;
  readonly workflowId: string;
  readonly askedAt: string;
  /** Which step does not go through; absent: no controller has taken it up. */
  readonly trying?: Trying;
  readonly ui: string;
};
export type Waiting = {
  /** Absent where Temporal, which alone knows of them, was not asked or did not answer. */
  readonly unbegun?: readonly Unbegun[];
  /** Why it did not answer. */
  readonly unbegunUnknown?: string;
  /** Why none of them could be written down, where it is the store that takes nothing. */
  readonly store?: Pick<Problem, 'what' | 'why' | 'next'>;
};

/** One that was asked for just now is about to begin. */
const oldAfterMs = 3_000;
/** They are for a person to read, and one is as good as another to learn what is wrong. */
const atMost = 20;
/** Whoever asks how things stand is not kept waiting by a Temporal that does not answer. */
const withinMs = 2_000;

/** Those that wait to be begun, the oldest first. */
export async function unbegunActs(controller: Controller): Promise<Waiting> {
  const { foundation, person } = controller;
  let client: Client | undefined;
  try {
    const connected = (client = await connectTemporal(foundation.temporal, person, withinMs));
    return await connected.withDeadline(Date.now() + withinMs, () => look(controller, connected));
  } catch (fault) {
    // What the store knows is said all the same.
    return { unbegunUnknown: errorChain(fault) };
  } finally {
    await client?.connection.close();
  }
}

async function look(controller: Controller, client: Client): Promise<Waiting> {
  const unbegun: Unbegun[] = [];
  for (const one of await running(client)) {
    if (unbegun.length === atMost) break;
    if ((await controller.readAct(one.act)) !== undefined) continue;
    const { isTakenUp, trying } = await atStep(client, one.workflowId, one.act);
    // A first step that looks at much before it writes anything down is at work.
    if (isTakenUp && trying === undefined) continue;
    const ui = uiLink(controller.foundation.temporal, one.workflowId, one.act);
    const askedAt = rfc3339(one.askedAt);
    unbegun.push({
      act: one.act,
      workflowId: one.workflowId,
      askedAt,
      ...(trying === undefined ? {} : { trying }),
      ui,
    });
  }
  const isTried = unbegun.some(({ trying }) => trying !== undefined);
  const down = isTried ? await controller.refusesWrites() : undefined;
  return { unbegun, ...(down === undefined ? {} : { store: { what: down.what, why: down.why, next: down.next } }) };
}

type Running = { readonly act: string; readonly workflowId: string; readonly askedAt: Date };

async function running(client: Client): Promise<readonly Running[]> {
  const found: Running[] = [];
  const query = `ExecutionStatus = 'Running' AND TaskQueue = '${controllerQueue}'`;
  for await (const { workflowId, runId, startTime } of client.workflow.list({ query }))
    if (Date.now() - startTime.getTime() >= oldAfterMs) found.push({ act: runId, workflowId, askedAt: startTime });
  return found.toSorted((a, b) => a.askedAt.getTime() - b.askedAt.getTime());
}
