/** The step of an act that does not go through and is tried again, as Temporal has it from the first failure on (A13, C55). */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';

import type { Trying } from '../bodies/trying.ts';
import { rfc3339 } from '../render/time.ts';

/** As long as a step that does not wait for anybody may take. */
const atWorkMs = 30_000;

/** Undefined: nothing fails, or nothing of that id runs. */
export async function tryingOf(client: Client, workflowId: string, act: string): Promise<Trying | undefined> {
  try {
    const { raw } = await client.workflow.getHandle(workflowId, act).describe();
    for (const step of raw.pendingActivities ?? []) {
      const { activityType, attempt, lastFailure, nextAttemptScheduleTime, lastStartedTime } = step;
      if (lastFailure === undefined || lastFailure === null || (attempt ?? 1) < 2) continue;
      // One that has been at work for longer went through with what failed before, and waits for nodes.
      const isAtWork = !nextAttemptScheduleTime && lastStartedTime && Date.now() - msOf(lastStartedTime) > atWorkMs;
      if (isAtWork) continue;
      return {
        step: activityType?.name ?? 'a step',
        failed: (attempt ?? 1) - 1,
        lastError: chainOf(lastFailure),
        ...(nextAttemptScheduleTime && { nextTryAt: rfc3339(msOf(nextAttemptScheduleTime)) }),
      };
    }
    return undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

type Failure = { readonly message?: string | null; readonly cause?: Failure | null };

function chainOf({ message, cause }: Failure): string {
  const own = message ?? '';
  return cause === undefined || cause === null ? own : `${own}: ${chainOf(cause)}`;
}

type Timestamp = { readonly seconds?: { toString(): string } | null; readonly nanos?: number | null };
const msOf = ({ seconds, nanos }: Timestamp): number => Number(String(seconds ?? 0)) * 1_000 + (nanos ?? 0) / 1_000_000;
