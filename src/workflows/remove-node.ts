import { CancellationScope, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { RemovalActivities } from '../activities/removal.ts';
import { removalSummary, type RemovalRequest, type RemovalResult } from '../domain/act/act.ts';
import { database } from './activity-classes.ts';

const { removeNodeRows, closeNodeAccount } = proxyActivities<RemovalActivities>(database);

/** Takes a node out of the mesh. Once its rows are gone there is only forward: its account must not outlive them. */
export async function removeNode(request: RemovalRequest): Promise<RemovalResult> {
  const { firstExecutionRunId: act, workflowId } = workflowInfo();
  return CancellationScope.nonCancellable(async () => {
    const removed = await removeNodeRows(act, workflowId, removalSummary(request.node), request);
    setCurrentDetails('Its rows are gone. Closing its account on the bus.');
    await closeNodeAccount(act, removed.accountKey, removed.otherAccounts);
    setCurrentDetails('Removed.');
    const { pins, credentials } = removed;
    const named = (of: readonly string[]): readonly string[] => of.slice(0, 20);
    return {
      act,
      node: request.node,
      pins: named(pins),
      pinsCount: pins.length,
      credentials: named(credentials),
      credentialsCount: credentials.length,
    };
  });
}
