/** An act by a name that a person has: its own id, or what it is about. */
import { WorkflowNotFoundError } from '@temporalio/client';

import { isRefusal, type Refusal } from '../../src/domain/refusal/refusal.ts';
import { showAct } from '../../src/operations/plan/list-acts.ts';
import type { ActRow } from '../../src/operations/ports/act-rows.ts';
import type { Controller } from '../controller.ts';
import { promptly } from './temporal.ts';

export type FoundAct =
  | { readonly kind: 'begun'; readonly row: ActRow }
  /** It was asked for, and no controller has taken it up: the store does not know it yet. */
  | { readonly kind: 'not begun'; readonly workflowId: string; readonly act: string; readonly askedAt: Date };

/** Refusal: `unknown-act`. */
export async function findAct(controller: Controller, name: string): Promise<FoundAct | Refusal> {
  const row = await showAct(controller.store, name);
  if (!isRefusal(row) && row.endedAt === undefined) return { kind: 'begun', row };
  // A workflow of that id may have been asked for since the act that the store knows.
  const running = await askedFor(controller, name);
  if (running === undefined || (!isRefusal(row) && row.act === running.act))
    return isRefusal(row) ? row : { kind: 'begun', row };
  return running;
}

async function askedFor(
  { temporal }: Controller,
  workflowId: string,
): Promise<Extract<FoundAct, { kind: 'not begun' }> | undefined> {
  const client = await temporal();
  try {
    const asked = client.workflow.getHandle(workflowId);
    const { runId, startTime, status } = await promptly(client, () => asked.describe());
    return status.name === 'RUNNING' ? { kind: 'not begun', workflowId, act: runId, askedAt: startTime } : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
