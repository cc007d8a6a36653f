import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawModules } from '../../render/modules.ts';
import { rfc3339 } from '../../render/time.ts';

export const moduleList: CommandDefinition = {
  name: 'module list',
  group: 'modules',
  summary: 'list the catalogue',
  examples: ['mesh module list'],
  async run(_given, context) {
    const { withController } = await import('../../controller.ts');
    const { listModules } = await import('../../../src/operations/module/list-modules.ts');
    const rows = await withController(context, ({ store }) => listModules(store));
    const modules = rows.map(({ module, version, digest, addedAt }) => ({
      module,
      version,
      digest,
      addedAt: rfc3339(addedAt),
    }));
    return answer('mesh.modules', { modules }, drawModules);
  },
};
