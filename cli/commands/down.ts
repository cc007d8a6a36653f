import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawLowered } from '../render/local.ts';

export const down: CommandDefinition = {
  name: 'down',
  group: 'the mesh',
  summary: 'stop all that up raised here, and what its nodes run; everything is kept',
  examples: ['mesh down'],
  async run(_given, context) {
    const { foundationAt } = await import('../controller.ts');
    const { lowerMesh } = await import('../local/lower-mesh.ts');
    await foundationAt(context.settings.stateFolder);
    try {
      return answer(
        'mesh.down',
        { state: context.settings.stateFolder, stopped: await lowerMesh(context) },
        drawLowered,
      );
    } catch (cause) {
      throw new Error('not all of the mesh could be stopped', { cause });
    }
  },
};
