import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawAdded } from '../../render/modules.ts';

export const moduleAdd: CommandDefinition = {
  name: 'module add',
  group: 'modules',
  summary: 'add a module to the catalogue, or the new form of one that is there',
  details:
    'Takes in the manifest and the files that its resources name. Settings, secrets, ports and assignments of a module that is there stay where they were. Nodes are told by mesh push.',
  arguments: [{ name: 'DIR', says: "the module's folder", many: true }],
  examples: ['mesh module add examples/postgres', 'mesh module add examples/*'],
  async run(given, context) {
    const { withController } = await import('../../controller.ts');
    const { readModuleFolder } = await import('../../module-folder.ts');
    const { moduleDigest } = await import('../../module-digest.ts');
    const { addModule } = await import('../../../src/operations/module/add-module.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const read = await Promise.all(given.many('DIR').map(readModuleFolder));
    // All are read before any is added: one that is wrong leaves the catalogue as it was.
    const refused = read.find(isRefusal);
    if (refused !== undefined) return refused;
    return withController(context, async ({ store }) => {
      const added: { module: string; version: string; digest: string; change: string }[] = [];
      for (const module of read) {
        if (isRefusal(module)) return module;
        const done = await addModule(store, context.settings.person, { ...module, digest: moduleDigest(module) });
        if (isRefusal(done)) return done;
        added.push({ ...done });
      }
      return answer('mesh.modules-added', { modules: added }, drawAdded);
    });
  },
};
