import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawConfig } from '../../render/config.ts';

export const configShow: CommandDefinition = {
  name: 'config show',
  group: 'what is so',
  summary: 'show the effective settings of the command here, and where each came from',
  details: 'Works with nothing configured and without a mesh. Of secrets only the file that holds one is named.',
  examples: ['mesh config show', 'MESH_STATE=./trial mesh config show --json'],
  async run(_given, context) {
    const { readFoundation } = await import('../../../src/foundation/foundation.ts');
    const { effectiveSettings } = await import('../../effective-settings.ts');
    const foundation = await readFoundation(context.settings.stateFolder);
    const settings = effectiveSettings(context, foundation);
    return answer('mesh.config', { raised: foundation !== undefined, settings }, drawConfig);
  },
};
