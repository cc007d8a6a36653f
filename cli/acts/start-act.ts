import { WorkflowExecutionAlreadyStartedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { defineSearchAttributeKey, WorkflowNotFoundError, type SearchAttributePair } from '@temporalio/common';

import {
  controllerQueue,
  pushAskedAgain,
  type EnrolRequest,
  type PushRequest,
  type RemovalRequest,
  type RotationRequest,
} from '../../src/domain/act/act.ts';
import type { Refusal } from '../../src/domain/refusal/refusal.ts';
import { promptly } from './temporal.ts';

export type ActAsked = {
  /** The name that it has everywhere: of the id's first word, in events, in the UI's filter. */
  readonly kind: 'rotate' | 'push' | 'enrol' | 'remove';
  readonly workflowId: string;
  /** The sentence that people see (A12). */
  readonly summary: string;
  readonly node?: string;
  readonly module?: string;
  /** Whether asking for what already runs joins it (A16); else it is refused. */
  readonly attaches: boolean;
  /** What was asked beside the thing that the id names, in words: whoever asks for the same on other terms is not told that it was done (C89). */
  readonly terms?: string;
} & (
  | { readonly workflow: 'rotateCredential'; readonly request: RotationRequest }
  | { readonly workflow: 'pushNodes'; readonly request: PushRequest }
  | { readonly workflow: 'enrolNode'; readonly request: EnrolRequest }
  | { readonly workflow: 'removeNode'; readonly request: RemovalRequest }
);

export type StartedAct = {
  readonly workflowId: string;
  /** The act's own id: the first execution's run id. */
  readonly act: string;
  /** It ran already, and was joined. */
  readonly attached: boolean;
};

const attributes = {
  node: defineSearchAttributeKey('MeshNode', 'KEYWORD'),
  module: defineSearchAttributeKey('MeshModule', 'KEYWORD'),
  act: defineSearchAttributeKey('MeshAct', 'KEYWORD'),
};

/**
 * Starts an act, or joins the one of that id (A16). Refusal: `act-running`, also where it runs on other terms. It is Temporal that says whether one runs:
 * two who ask at once are told apart there.
 */
export async function startAct(client: Client, asked: ActAsked): Promise<StartedAct | Refusal> {
  return promptly(client, () => start(client, asked));
}

async function start(client: Client, asked: ActAsked): Promise<StartedAct | Refusal> {
  // The one that was in the way may have ended meanwhile: then there is room.
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    try {
      const handle = await client.workflow.start(asked.workflow, {
        taskQueue: controllerQueue,
        workflowId: asked.workflowId,
        args: [asked.request],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
        staticSummary: asked.summary,
        ...(asked.terms === undefined ? {} : { memo: { terms: asked.terms } }),
        typedSearchAttributes: searchAttributes(asked),
      });
      return { workflowId: asked.workflowId, act: handle.firstExecutionRunId, attached: false };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const handle = client.workflow.getHandle(asked.workflowId);
    const running = await handle.describe();
    if (running.status.name !== 'RUNNING') continue;
    if (!asked.attaches) return alreadyRuns(asked.workflowId);
    const terms = running.memo?.['terms'];
    if (typeof terms === 'string' && asked.terms !== undefined && terms !== asked.terms)
      return onOtherTerms(asked.workflowId, terms, asked.terms);
    if (asked.workflow === 'pushNodes' && !(await askAgain(handle))) continue;
    return { workflowId: asked.workflowId, act: running.runId, attached: true };
  }
  return alreadyRuns(asked.workflowId);
}

/** What this one wants sent may have been declared after the running one looked. False: that one has ended. */
async function askAgain(running: WorkflowHandle): Promise<boolean> {
  try {
    await running.signal(pushAskedAgain);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

function searchAttributes({ kind, node, module }: ActAsked): SearchAttributePair[] {
  return [
    { key: attributes.act, value: kind },
    ...(node === undefined ? [] : [{ key: attributes.node, value: node }]),
    ...(module === undefined ? [] : [{ key: attributes.module, value: module }]),
  ];
}

function onOtherTerms(workflowId: string, terms: string, wanted: string): Refusal {
  return {
    ...alreadyRuns(workflowId),
    what: `${workflowId} runs already, ${terms}, and not ${wanted}`,
    why: 'joining it would leave out what was asked for now; two acts over one thing are impossible',
  };
}

function alreadyRuns(workflowId: string): Refusal {
  return {
    kind: 'act-running',
    what: `${workflowId} runs already`,
    why: 'one act at a time changes one thing',
    next: [`mesh act show ${workflowId}`, `mesh act cancel ${workflowId}`],
    facts: { act: workflowId },
  };
}
