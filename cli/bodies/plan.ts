import type { NodePlan, Plan } from '../../src/operations/plan/plan-nodes.ts';

/** What a push would do, as an answer has it. */
export function planBody({ nodes, hasChanges }: Plan) {
  return { hasChanges, nodes: nodes.map(nodePlanBody) };
}

function nodePlanBody(plan: NodePlan) {
  const { node, state, standing } = plan;
  const common = { node, state: String(state), told: String(standing.told) };
  if (plan.kind === 'unresolvable') {
    const refusals = plan.refusals.map(({ kind, what, why, next }) => ({ kind: String(kind), what, why, next }));
    return { ...common, resolvable: false as const, refusals };
  }
  const { digest, difference, takes, wouldMake } = plan;
  return {
    ...common,
    resolvable: true as const,
    digest,
    add: difference.added,
    change: difference.changed,
    remove: difference.removed,
    takes: takes.map(({ consumer, provision, provider }) => ({
      module: consumer.module,
      provision,
      from: `${provider.node}/${provider.module}`,
    })),
    wouldMake: wouldMake.map(({ path, why }) => ({ path, why: String(why) })),
  };
}
export type PlanBody = ReturnType<typeof planBody>;
export type NodePlanBody = PlanBody['nodes'][number];
