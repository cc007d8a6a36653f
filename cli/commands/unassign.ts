import { answer } from '../answer.ts';
import { portBody } from '../bodies/placement.ts';
import { confirmed } from '../context.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawUnassigned } from '../render/intent.ts';

export const unassign: CommandDefinition = {
  name: 'unassign',
  group: 'intent',
  summary: 'take a module off a node, with what only it required there',
  details:
    'Its ports and claims are given back. Its credentials are granted no more, but kept: it gets the same ones if it comes back. The node is told by mesh push.',
  arguments: [
    { name: 'NODE', says: 'where' },
    { name: 'MODULE', says: 'what' },
  ],
  options: [{ name: 'yes', short: 'y', says: 'do not ask' }],
  examples: ['mesh unassign beta notes', 'mesh unassign beta notes --yes'],
  async run(given, context) {
    const { asModule, asNode } = await import('../names.ts');
    const { foundationAt, withController } = await import('../controller.ts');
    const { unassign: write } = await import('../../src/operations/intent/unassign.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const placed = { node: asNode(given.text('NODE')), module: asModule(given.text('MODULE')) };
    await foundationAt(context.settings.stateFolder);
    const question = `Take ${placed.module} off ${placed.node}? At the next push its programs there are stopped.`;
    await confirmed(context, given.flag('yes'), question, `unassigning ${placed.module} from ${placed.node}`);
    const gone = await withController(context, ({ store }) => write(store, context.settings.person, placed));
    if (isRefusal(gone)) return gone;
    const { node, module, left, releasedPorts, releasedClaims } = gone;
    const claims = releasedClaims.map(({ name, place }) => (place === '*' ? name : `${name} on ${place}`));
    return answer(
      'mesh.unassigned',
      { node, module, left, releasedPorts: releasedPorts.map(portBody), releasedClaims: claims },
      drawUnassigned,
    );
  },
};
