import {
  CancellationScope,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { PushActivities } from '../activities/push.ts';
import { pushSummary, type PushRequest, type PushResult } from '../domain/act/act.ts';
import { bus, database, hostWait } from './activity-classes.ts';
import { pushAskedAgain } from './messages/push.ts';

const { preparePush, endCancelledPush } = proxyActivities<PushActivities>(database);
const { sendDeclarations } = proxyActivities<PushActivities>(bus);
const { awaitNodes } = proxyActivities<PushActivities>(hostWait);

/** What the executions before this one came to, when somebody asked again while they ran. */
type Before = Pick<PushResult, 'sent' | 'secretsMade'>;

/**
 * A7. Sends nodes what they should be, and says what became of it on each. Cancelled: what was sent stays sent. Asked again
 * after it looked at what is declared, it starts over when it is done, so that no request is swallowed (C89).
 */
export async function pushNodes(request: PushRequest, before?: Before): Promise<PushResult> {
  const { firstExecutionRunId, continuedFromExecutionRunId, runId, workflowId } = workflowInfo();
  // Each execution is an act of its own: the record of the one before has ended.
  const act = continuedFromExecutionRunId === undefined ? firstExecutionRunId : runId;
  let isAskedAgain = false;
  setHandler(pushAskedAgain, () => {
    isAskedAgain = true;
  });
  try {
    const result = await send(act, workflowId, request, () => {
      isAskedAgain = false;
    });
    const sum = sumOf(result, before);
    if (isAskedAgain) await continueAsNew<typeof pushNodes>(request, { sent: sum.sent, secretsMade: sum.secretsMade });
    return sum;
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => endCancelledPush(act));
    throw error;
  }
}

function sumOf(result: PushResult, before: Before = { sent: 0, secretsMade: 0 }): PushResult {
  return {
    ...result,
    sent: result.sent + before.sent,
    // What the execution before sent, this one finds sent.
    alreadySent: Math.max(0, result.alreadySent - before.sent),
    secretsMade: result.secretsMade + before.secretsMade,
  };
}

/** `looking` is called when what is declared is about to be looked at: whoever asked until then is served. */
async function send(act: string, workflowId: string, request: PushRequest, looking: () => void): Promise<PushResult> {
  looking();
  const prepared = await preparePush(act, workflowId, pushSummary(request.nodes), request);
  // A step of before wrote down whom it is for and did not look: what was asked while it ran was looked at afterwards.
  if (typeof prepared === 'number') looking();
  const result =
    typeof prepared === 'object' && 'result' in prepared
      ? prepared.result
      : await sendAndAwait(act, typeof prepared === 'number' ? prepared : prepared.nodes);
  setCurrentDetails(
    `Done: ${result.applied} applied, ${result.failedCount} failed, ${result.unresolvableCount} could not be resolved.`,
  );
  return result;
}

async function sendAndAwait(act: string, nodes: number): Promise<PushResult> {
  setCurrentDetails(`Sending ${nodes} nodes what they should be.`);
  await sendDeclarations(act);
  setCurrentDetails(`Waiting until ${nodes} nodes reported.`);
  return awaitNodes(act);
}
