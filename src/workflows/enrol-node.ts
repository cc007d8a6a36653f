import {
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { EnrolmentActivities } from '../activities/enrolment.ts';
import { enrolSummary, type EnrolRequest, type EnrolResult } from '../domain/act/act.ts';
import { database, hostWait } from './activity-classes.ts';
import { enrolmentProven } from './messages/enrolment.ts';

const { openToken, admitNode, closeToken } = proxyActivities<EnrolmentActivities>(database);
const { awaitFirstReport } = proxyActivities<EnrolmentActivities>(hostWait);

/** A8. One token lets one node prove its keys; then the node has an account of its own and the token is closed. */
export async function enrolNode(request: EnrolRequest): Promise<EnrolResult> {
  const { firstExecutionRunId: act, workflowId } = workflowInfo();
  let proven = false;
  setHandler(enrolmentProven, () => {
    proven = true;
  });
  try {
    await openToken(act, workflowId, enrolSummary(request.node), request);
    return await admitWhoProves(act, request, () => proven);
  } catch (error) {
    // A cancelled invitation lets nobody in any more, and its node may be invited again.
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => closeToken(act, request.tokenId, false));
    throw error;
  }
}

async function admitWhoProves(act: string, request: EnrolRequest, isProven: () => boolean): Promise<EnrolResult> {
  setCurrentDetails('The token is good. Waiting until the node proves its keys.');
  const joined = await condition(isProven, request.expiresInMs);
  if (joined) {
    await admitNode(act, request.node, request.tokenId);
    setCurrentDetails('The node has its own account. Waiting until it reports with it.');
    await awaitFirstReport(act, request.node);
  }
  await closeToken(act, request.tokenId, joined);
  setCurrentDetails(joined ? 'Joined.' : 'The token expired before a node proved its keys.');
  return { act, node: request.node, joined };
}
