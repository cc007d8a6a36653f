/** Acts and events as answers have them. */
import type { Foundation } from '../../src/foundation/foundation.ts';
import { waitsFor } from '../../src/operations/plan/status.ts';
import type { ActRow } from '../../src/operations/ports/act-rows.ts';
import type { EventRow } from '../../src/operations/ports/work.ts';
import { jsonOf } from '../answer.ts';
import { rfc3339 } from '../render/time.ts';

/** Where the act is seen in Temporal's own UI. */
export function uiLink({ uiUrl, namespace }: Foundation['temporal'], workflowId: string, act: string): string {
  return `${uiUrl}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}/${act}/history`;
}

export function actBody(row: ActRow, temporal: Foundation['temporal']) {
  const { act, workflowId, kind, summary, person, stage, startedAt, committedAt, endedAt, detail } = row;
  return {
    act,
    workflowId,
    kind,
    summary,
    person,
    stage: String(stage),
    startedAt: rfc3339(startedAt),
    ...(committedAt === undefined ? {} : { committedAt: rfc3339(committedAt) }),
    ...(endedAt === undefined ? {} : { endedAt: rfc3339(endedAt) }),
    waitsFor: endedAt === undefined ? waitsFor(detail) : [],
    ui: uiLink(temporal, workflowId, act),
  };
}
export type ActBody = ReturnType<typeof actBody>;

export function eventBody({ id, at, person, kind, about, detail }: EventRow) {
  return { id, at: rfc3339(at), person, kind, about, detail: jsonOf(detail) ?? {} };
}
export type EventBody = ReturnType<typeof eventBody>;
