import type { CommandDefinition } from '../../definition.ts';

export const moduleForget: CommandDefinition = {
  name: 'module forget',
  group: 'modules',
  summary: 'name all that would be destroyed with a module, and destroy none of it',
  details:
    'Lists its assignments, settings, own secrets, credentials at either end, ports, claims, bindings and pins, and ends with 3. Destroying them is not built yet.',
  arguments: [{ name: 'MODULE', says: 'its name' }],
  examples: ['mesh module forget notes', 'mesh module forget notes --json'],
  async run(given, context) {
    const { asModule } = await import('../../names.ts');
    const { withController } = await import('../../controller.ts');
    const { forgetModule } = await import('../../../src/operations/module/forget-module.ts');
    const { sha256Hex } = await import('../../../src/sealing/digest.ts');
    const module = asModule(given.text('MODULE'));
    return withController(context, ({ store }) => forgetModule(store, sha256Hex, module));
  },
};
