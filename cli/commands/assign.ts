import { answer } from '../answer.ts';
import { bindingBody, portBody } from '../bodies/placement.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawAssigned } from '../render/intent.ts';

export const assign: CommandDefinition = {
  name: 'assign',
  group: 'intent',
  summary: 'put a module on a node, with what it requires there, its ports and its claims',
  details: 'Changes what is intended. The node is told by mesh push.',
  arguments: [
    { name: 'NODE', says: 'where' },
    { name: 'MODULE', says: 'what; it was added by mesh module add' },
  ],
  examples: ['mesh assign alpha postgres', 'mesh assign beta notes'],
  async run(given, context) {
    const { asModule, asNode } = await import('../names.ts');
    const { withController } = await import('../controller.ts');
    const { assign: write } = await import('../../src/operations/intent/assign.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const placed = { node: asNode(given.text('NODE')), module: asModule(given.text('MODULE')) };
    const assigned = await withController(context, ({ store }) => write(store, context.settings.person, placed));
    if (isRefusal(assigned)) return assigned;
    const { node, module, change, broughtAlong, ports, bindings } = assigned;
    const body = {
      node,
      module,
      change: String(change),
      broughtAlong,
      ports: ports.map(portBody),
      bindings: bindings.map(bindingBody),
    };
    return answer('mesh.assigned', body, drawAssigned);
  },
};
