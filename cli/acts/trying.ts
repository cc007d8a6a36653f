/** What Temporal knows of the step that an act is at: whether somebody took it up, and whether it fails and is tried again (A13, A15, C55). */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';

import type { Trying } from '../bodies/trying.ts';
import { rfc3339 } from '../render/time.ts';

/** As long as a step that does not wait for anybody may take. */
const atWorkMs = 30_000;

/** `trying`: of the first step that fails. Where nothing of that id runs, nobody took it up and nothing fails. */
export type AtStep = { readonly isTakenUp: boolean; readonly trying?: Trying };

export async function atStep(client: Client, workflowId: string, act: string): Promise<AtStep> {
  try {
    const { raw } = await client.workflow.getHandle(workflowId, act).describe();
    const steps = raw.pendingActivities ?? [];
    const isTakenUp = steps.some(({ lastStartedTime }) => Boolean(lastStartedTime));
    for (const step of steps) {
      const { activityType, attempt, lastFailure, nextAttemptScheduleTime, lastStartedTime } = step;
      if (lastFailure === undefined || lastFailure === null || (attempt ?? 1) < 2) continue;
      // One that has been at work for longer went through with what failed before, and waits for nodes.
      const isAtWork = !nextAttemptScheduleTime && lastStartedTime && Date.now() - msOf(lastStartedTime) > atWorkMs;
      if (isAtWork) continue;
      const trying = {
        step: activityType?.name ?? 'a step',
        failed: (attempt ?? 1) - 1,
        lastError: chainOf(lastFailure),
        ...(nextAttemptScheduleTime && { nextTryAt: rfc3339(msOf(nextAttemptScheduleTime)) }),
      };
      return { isTakenUp: true, trying };
    }
    return { isTakenUp };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { isTakenUp: false };
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
