import {
  CancellationScope,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { RotationActivities } from '../activities/rotation.ts';
import { rotationSummary, type RotationRequest, type RotationResult } from '../domain/act/act.ts';
import { database, hostWait } from './activity-classes.ts';

const { prepareRotation, commitRotation, settleRotation, closeRotation } =
  proxyActivities<RotationActivities>(database);
const { tellProviders, tellConsumers, awaitUse, withdrawOld } = proxyActivities<RotationActivities>(hostWait);

/** A client that has just read the old file still logs in with it: one look of the granter, and two seconds (S11). */
const lastReaderMs = 2500;

/** A1. Until the commit the old credentials are the only ones; after it there is only forward. */
export async function rotateCredential(request: RotationRequest): Promise<RotationResult> {
  // Not the workflow id: that names the thing rotated, and the next rotation will reuse it.
  const { firstExecutionRunId: act, workflowId } = workflowInfo();
  setCurrentDetails('Naming the holders and resolving their nodes. Nothing is changed yet.');
  const { overlapping, credentials } = await commitOrUndo(act, workflowId, request);
  return CancellationScope.nonCancellable(async () => {
    setCurrentDetails(
      `Committed ${credentials} new. The providers are told; the old ones work until their consumers moved.`,
    );
    await tellProviders(act);
    if (overlapping > 0) {
      setCurrentDetails('Both generations are granted. The consumers are told.');
      await tellConsumers(act);
      setCurrentDetails('The consumers hold the new generation. Waiting until each was seen connected with it.');
      await awaitUse(act, request.limitMs === undefined ? undefined : Date.now() + request.limitMs);
      await sleep(lastReaderMs);
      setCurrentDetails('Every consumer moved. The old generation is withdrawn; its open sessions may drain.');
      await withdrawOld(act);
    }
    const result = await closeRotation(act);
    setCurrentDetails(
      `Done: ${result.credentials} rotated, ${result.sessionsEnded} sessions ended, window ${result.windowMs} ms.`,
    );
    return result;
  });
}

type Prepared = Awaited<ReturnType<RotationActivities['prepareRotation']>>;

async function commitOrUndo(act: string, workflowId: string, request: RotationRequest): Promise<Prepared> {
  const summary = rotationSummary(request.selection);
  let prepared: Prepared | undefined;
  try {
    prepared = await prepareRotation(act, workflowId, summary, request);
    if ((await commitRotation(act)) === 'committed') return prepared;
  } catch (error) {
    // A refusal has ended the act itself: it never held anything.
    if (prepared === undefined && !isCancellation(error)) throw error;
    // A step that timed out or was cancelled may still have happened. The store says which it was, and fences the act as
    // it answers, so that a late attempt cannot lock or commit what we are about to call undone.
    const settled = await CancellationScope.nonCancellable(() => settleRotation(act, workflowId, summary, request));
    if (settled === 'abandoned' || prepared === undefined) throw error;
    return prepared;
  }
  throw ApplicationFailure.nonRetryable('the rotation was undone before its commit', 'RotationUndone');
}
