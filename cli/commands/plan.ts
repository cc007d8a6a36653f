import type { Described } from '../../src/domain/declaration/describe-changes.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import type { Foundation } from '../../src/foundation/foundation.ts';
import type { NodePlan } from '../../src/operations/plan/plan-nodes.ts';
import { answer } from '../answer.ts';
import { planBody } from '../bodies/plan.ts';
import type { CommandDefinition } from '../definition.ts';
import { exit } from '../exit.ts';
import { drawPlan } from '../render/plan.ts';

export const plan: CommandDefinition = {
  name: 'plan',
  group: 'intent',
  summary: 'show, resource by resource, what a push would change, and what a node takes from others',
  details:
    'Changes nothing and makes no secret. A node that cannot be resolved is sent nothing; plan says why. With --full: the lines of a file, the fields of a process; of a secret only whether it is sealed anew or to another key. For that it reads what was last sent from the bus, and believes it only where it is what was recorded.',
  arguments: [{ name: 'NODE', says: 'only this one', optional: true, many: true }],
  options: [
    { name: 'full', says: 'also what changes inside each resource' },
    { name: 'detailed-exitcode', says: 'end with 2 when a push would change anything' },
  ],
  examples: ['mesh plan', 'mesh plan beta --full', 'mesh plan beta --detailed-exitcode'],
  async run(given, context) {
    const { asNode } = await import('../names.ts');
    const { withController } = await import('../controller.ts');
    const { planNodes } = await import('../../src/operations/plan/plan-nodes.ts');
    const { sha256Hex } = await import('../../src/sealing/digest.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const named = given.many('NODE').map(asNode);
    return withController(context, async ({ store, foundation }) => {
      const planned = await planNodes(store, sha256Hex, named.length === 0 ? undefined : named);
      if (isRefusal(planned)) return planned;
      const described = given.flag('full')
        ? await describeAll(planned.nodes, foundation, context.settings.stateFolder)
        : undefined;
      const ends = given.flag('detailed-exitcode') && planned.hasChanges ? exit.changes : exit.done;
      return answer('mesh.plan', planBody(planned, described), drawPlan, ends);
    });
  },
};

/** What changes inside the resources of each node that has changed ones. */
async function describeAll(
  nodes: readonly NodePlan[],
  foundation: Foundation,
  stateFolder: string,
): Promise<ReadonlyMap<NodeName, Described>> {
  const { sentBodies } = await import('../sent-bodies.ts');
  const { describeChanges } = await import('../../src/domain/declaration/describe-changes.ts');
  const { sha256Hex } = await import('../../src/sealing/digest.ts');
  const changing = nodes.flatMap((plan) =>
    plan.kind === 'resolvable' && plan.sent !== undefined && plan.difference.changed.length > 0
      ? [{ node: plan.node, sent: plan.sent, would: plan.would, difference: plan.difference }]
      : [],
  );
  const bodies = await sentBodies(
    foundation,
    stateFolder,
    changing.map(({ node }) => node),
  );
  return new Map(
    changing.map(({ node, ...of }): [NodeName, Described] => {
      const found = bodies.get(node);
      if (found !== undefined && 'why' in found) return [node, { kind: 'unknown', why: found.why }];
      return [node, describeChanges({ ...of, body: found?.body, hash: sha256Hex })];
    }),
  );
}
