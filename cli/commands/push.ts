import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { exit } from '../exit.ts';
import { drawNothingBehind, drawPushed } from '../render/outcomes.ts';
import { waitOptions } from '../wait-options.ts';

export const push: CommandDefinition = {
  name: 'push',
  group: 'intent',
  summary: 'send nodes what they should be, and wait until they are',
  details:
    'Makes the secrets that are missing first. A node that was sent just this is not told twice. Ends with 6 when a node failed or refused it, or could not be resolved. Asking for a push that runs joins it.',
  arguments: [{ name: 'NODE', says: 'only these; else every node that has joined', optional: true, many: true }],
  options: [{ name: 'behind', says: 'only nodes that would be sent something new' }, ...waitOptions],
  examples: ['mesh push', 'mesh push beta gamma', 'mesh push --behind --detach'],
  async run(given, context) {
    const { asNode } = await import('../names.ts');
    const { withController } = await import('../controller.ts');
    const { runAct } = await import('../acts/run-act.ts');
    const { pushId, pushResult, pushSummary } = await import('../../src/domain/act/act.ts');
    const { planNodes } = await import('../../src/operations/plan/plan-nodes.ts');
    const { sha256Hex } = await import('../../src/sealing/digest.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const named = given.many('NODE').map(asNode);
    return withController(context, async (controller) => {
      let nodes = named.length === 0 ? undefined : named;
      if (nodes !== undefined || given.flag('behind')) {
        const planned = await planNodes(controller.store, sha256Hex, nodes);
        if (isRefusal(planned)) return planned;
        if (given.flag('behind')) {
          nodes = planned.nodes
            .filter((one) => one.state === 'joined' && one.kind === 'resolvable' && one.standing.told !== 'same')
            .map(({ node }) => node);
          if (nodes.length === 0)
            return answer('mesh.push', { sent: 0, alreadySent: planned.nodes.length, applied: 0 }, drawNothingBehind);
        }
      }
      return runAct(
        { context, controller, given },
        {
          kind: 'push',
          workflow: 'pushNodes',
          workflowId: pushId(nodes, sha256Hex),
          request: { person: context.settings.person, ...(nodes === undefined ? {} : { nodes }) },
          summary: pushSummary(nodes),
          ...(nodes?.length === 1 && nodes[0] !== undefined ? { node: nodes[0] } : {}),
          attaches: true,
        },
        {
          schema: 'mesh.push',
          result: pushResult,
          draw: drawPushed,
          exitCode: ({ failedCount, unresolvableCount }) =>
            failedCount + unresolvableCount > 0 ? exit.unwell : exit.done,
        },
      );
    });
  },
};
