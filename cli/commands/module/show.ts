import { answer, jsonOf } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawModule } from '../../render/modules.ts';
import { rfc3339 } from '../../render/time.ts';

export const moduleShow: CommandDefinition = {
  name: 'module show',
  group: 'modules',
  summary: 'show one module as the mesh holds it, every short form written out',
  arguments: [{ name: 'MODULE', says: 'its name' }],
  examples: ['mesh module show notes', 'mesh module show notes --json'],
  async run(given, context) {
    const { asModule } = await import('../../names.ts');
    const { withController } = await import('../../controller.ts');
    const { showModule } = await import('../../../src/operations/module/list-modules.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const name = asModule(given.text('MODULE'));
    const shown = await withController(context, ({ store }) => showModule(store, name));
    if (isRefusal(shown)) return shown;
    const { module, version, digest, addedAt, files, manifest } = shown;
    const body = { module, version, digest, addedAt: rfc3339(addedAt), files, manifest: jsonOf(manifest) ?? {} };
    return answer('mesh.module', body, drawModule);
  },
};
