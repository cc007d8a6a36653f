import type { Described, ResourceChange } from '../../src/domain/declaration/describe-changes.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import type { NodePlan, Plan } from '../../src/operations/plan/plan-nodes.ts';

/** What a push would do, as an answer has it; `described` is what changes inside each resource, where that was asked for. */
export function planBody({ nodes, hasChanges }: Plan, described: ReadonlyMap<NodeName, Described> = new Map()) {
  return { hasChanges, nodes: nodes.map((plan) => nodePlanBody(plan, described.get(plan.node))) };
}

function nodePlanBody(plan: NodePlan, described: Described | undefined) {
  const { node, state, standing } = plan;
  const common = { node, state: String(state), told: String(standing.told) };
  if (plan.kind === 'unresolvable') {
    const refusals = plan.refusals.map(({ kind, what, why, next }) => ({ kind: String(kind), what, why, next }));
    return { ...common, resolvable: false as const, refusals };
  }
  const { digest, difference, takes, routes, unrouted, wouldMake } = plan;
  return {
    ...common,
    resolvable: true as const,
    digest,
    add: difference.added,
    change: difference.changed,
    remove: difference.removed,
    ...(described?.kind === 'described' ? { changes: described.changes.map(changeBody) } : {}),
    ...(described?.kind === 'unknown' ? { changesUnknown: described.why } : {}),
    takes: takes.map(({ consumer, provision, provider }) => ({
      module: consumer.module,
      provision,
      from: `${provider.node}/${provider.module}`,
    })),
    routes: routes.map(({ module, listens, name }) => ({ module, listens, name })),
    unrouted: unrouted.map(({ module, says }) => ({ module, says })),
    wouldMake: wouldMake.map(({ path, why }) => ({ path, why: String(why) })),
  };
}

function changeBody({ id, fields, hunks, bytes, sealed }: ResourceChange) {
  return {
    id,
    fields: fields.map(({ field, before, after }) => ({
      field,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
    })),
    ...(hunks === undefined ? {} : { hunks: hunks.map(({ lines, ...at }) => ({ ...at, lines: lines.map(lineBody) })) }),
    ...(bytes === undefined ? {} : { bytes }),
    ...(sealed === undefined ? {} : { sealed: String(sealed) }),
  };
}

const lineBody = ({ is, text }: { readonly is: string; readonly text: string }) => ({ is, text });

export type PlanBody = ReturnType<typeof planBody>;
export type NodePlanBody = PlanBody['nodes'][number];
export type ChangeBody = ReturnType<typeof changeBody>;
