import { answer } from '../../answer.ts';
import { nodeBody } from '../../bodies/node.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawNodes } from '../../render/nodes.ts';

export const nodeList: CommandDefinition = {
  name: 'node list',
  group: 'nodes',
  summary: 'list the nodes, invited ones among them',
  examples: ['mesh node list', 'mesh node list --json'],
  async run(_given, context) {
    const { withController } = await import('../../controller.ts');
    const { listNodes } = await import('../../../src/operations/node/invite-node.ts');
    const nodes = await withController(context, ({ store }) => listNodes(store));
    return answer('mesh.nodes', { nodes: nodes.map(nodeBody) }, drawNodes);
  },
};
