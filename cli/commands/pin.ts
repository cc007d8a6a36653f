import { answer } from '../answer.ts';
import { bindingBody, providerOf } from '../bodies/placement.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawPinned } from '../render/intent.ts';

export const pin: CommandDefinition = {
  name: 'pin',
  group: 'intent',
  summary: 'say where a node takes a provision from',
  details:
    'An order, never a preference: if that provider does not answer, nobody does. It is the one thing that moves a binding; data does not move along.',
  arguments: [
    { name: 'NODE', says: 'whose modules take it' },
    { name: 'PROVISION', says: 'what they take' },
    { name: 'PROVIDER', says: 'from where: NODE, or NODE/MODULE' },
  ],
  examples: ['mesh pin beta postgres-database alpha', 'mesh pin beta postgres-database alpha/postgres'],
  async run(given, context) {
    const { asNode, asPlaced, asProvision } = await import('../names.ts');
    const { withController } = await import('../controller.ts');
    const { pin: write } = await import('../../src/operations/intent/pin.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const written = given.text('PROVIDER');
    const provider = written.includes('/') ? asPlaced(written) : { node: asNode(written) };
    const wanted = { node: asNode(given.text('NODE')), provision: asProvision(given.text('PROVISION')), provider };
    const pinned = await withController(context, ({ store }) => write(store, context.settings.person, wanted));
    if (isRefusal(pinned)) return pinned;
    const { node, provision } = pinned.pin;
    const body = {
      node,
      provision,
      provider: providerOf(pinned.pin),
      change: String(pinned.change),
      moved: pinned.moved.map(bindingBody),
    };
    return answer('mesh.pinned', body, drawPinned);
  },
};
