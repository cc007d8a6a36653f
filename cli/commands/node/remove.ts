import { confirmedByName } from '../../context.ts';
import type { CommandDefinition } from '../../definition.ts';
import { exit } from '../../exit.ts';
import { drawRemoved, removalListing } from '../../render/nodes.ts';
import { waitOptions } from '../../wait-options.ts';

export const nodeRemove: CommandDefinition = {
  name: 'node remove',
  group: 'nodes',
  summary: 'take a node out of the mesh for good, with its pins, its secrets and its account on the bus',
  details:
    'What runs there is unassigned first. Its secrets are destroyed: nobody holds their values. The machine itself is not touched: what its host holds up goes on until somebody stops it there.',
  arguments: [{ name: 'NODE', says: 'which' }],
  options: [{ name: 'confirm', value: 'NODE', says: 'its name once more: what is listed may go' }, ...waitOptions],
  examples: ['mesh node remove gamma', 'mesh node remove gamma --confirm gamma'],
  async run(given, context) {
    const { asNode } = await import('../../names.ts');
    const { withController } = await import('../../controller.ts');
    const { runAct } = await import('../../acts/run-act.ts');
    const { removalId, removalResult, removalSummary } = await import('../../../src/domain/act/act.ts');
    const { listRemoval } = await import('../../../src/operations/node/remove-node.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const node = asNode(given.text('NODE'));
    return withController(context, async (controller) => {
      const going = await listRemoval(controller.store, node);
      if (isRefusal(going)) return going;
      await confirmedByName(context, {
        given: given.maybe('confirm'),
        name: node,
        what: `removing ${node}`,
        listing: removalListing(going),
      });
      return runAct(
        { context, controller, given },
        {
          kind: 'remove',
          workflow: 'removeNode',
          workflowId: removalId(node),
          request: { node, person: context.settings.person },
          summary: removalSummary(node),
          node,
          attaches: false,
        },
        { schema: 'mesh.node-removed', result: removalResult, draw: drawRemoved, exitCode: () => exit.done },
      );
    });
  },
};
