import { answer } from '../answer.ts';
import { providerOf } from '../bodies/placement.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawUnpinned } from '../render/intent.ts';

export const unpin: CommandDefinition = {
  name: 'unpin',
  group: 'intent',
  summary: 'take a pin away; bindings stay where they are',
  arguments: [
    { name: 'NODE', says: 'whose pin' },
    { name: 'PROVISION', says: 'for what' },
  ],
  examples: ['mesh unpin beta postgres-database'],
  async run(given, context) {
    const { asNode, asProvision } = await import('../names.ts');
    const { withController } = await import('../controller.ts');
    const { unpin: write } = await import('../../src/operations/intent/pin.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const wanted = { node: asNode(given.text('NODE')), provision: asProvision(given.text('PROVISION')) };
    const gone = await withController(context, ({ store }) => write(store, context.settings.person, wanted));
    if (isRefusal(gone)) return gone;
    return answer(
      'mesh.unpinned',
      { node: gone.node, provision: gone.provision, provider: providerOf(gone) },
      drawUnpinned,
    );
  },
};
