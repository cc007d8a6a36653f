import { answer } from '../../answer.ts';
import { capabilitiesBody, nodeBody } from '../../bodies/node.ts';
import { portBody, providerOf } from '../../bodies/placement.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawNode } from '../../render/nodes.ts';

export const nodeShow: CommandDefinition = {
  name: 'node show',
  group: 'nodes',
  summary: 'show one node: its state, what it can do, what is assigned, its pins and ports',
  arguments: [{ name: 'NODE', says: 'its name' }],
  examples: ['mesh node show alpha'],
  async run(given, context) {
    const { asNode } = await import('../../names.ts');
    const { withController } = await import('../../controller.ts');
    const { unknownNode } = await import('../../../src/operations/node/invite-node.ts');
    const node = asNode(given.text('NODE'));
    return withController(context, ({ store }) =>
      store.read(async (view) => {
        const [row] = await view.nodeRows([node]);
        if (row === undefined) return unknownNode(node);
        const { assignments, pins, ports } = await view.inventory();
        const body = {
          ...nodeBody(row),
          capabilities: capabilitiesBody(row),
          modules: assignments
            .filter((one) => one.node === node)
            .map(({ module }) => module)
            .toSorted(),
          pins: pins
            .filter((one) => one.node === node)
            .map((one) => ({ provision: one.provision, provider: providerOf(one) })),
          ports: ports.filter((one) => one.node === node).map(portBody),
          leavingPorts: (await view.releasedPorts(node)).map(portBody),
        };
        return answer('mesh.node', body, drawNode);
      }),
    );
  },
};
