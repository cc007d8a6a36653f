import {
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { PushActivities } from '../activities/push.ts';
import { pushSummary, type PushRequest, type PushResult } from '../domain/act/act.ts';
import { bus, database, hostWait } from './activity-classes.ts';

const { preparePush, endCancelledPush } = proxyActivities<PushActivities>(database);
const { sendDeclarations } = proxyActivities<PushActivities>(bus);
const { awaitNodes } = proxyActivities<PushActivities>(hostWait);

/** A7. Sends nodes what they should be, and says what became of it on each. Cancelled: what was sent stays sent. */
export async function pushNodes(request: PushRequest): Promise<PushResult> {
  const { firstExecutionRunId: act, workflowId } = workflowInfo();
  try {
    return await send(act, workflowId, request);
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => endCancelledPush(act));
    throw error;
  }
}

async function send(act: string, workflowId: string, request: PushRequest): Promise<PushResult> {
  const nodes = await preparePush(act, workflowId, pushSummary(request.nodes), request);
  setCurrentDetails(`Sending ${nodes} nodes what they should be.`);
  await sendDeclarations(act);
  setCurrentDetails(`Waiting until ${nodes} nodes reported.`);
  const result = await awaitNodes(act);
  setCurrentDetails(
    `Done: ${result.applied} applied, ${result.failedCount} failed, ${result.unresolvableCount} could not be resolved.`,
  );
  return result;
}
