import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawRegistry } from '../../render/provisioner.ts';

export const provisionerRegistry: CommandDefinition = {
  name: 'provisioner registry',
  group: 'what is so',
  summary: 'say which module answers which kind of placeholder, and where its values are',
  options: [{ name: 'module', value: 'MODULE', says: 'only what this module answers' }],
  examples: ['mesh provisioner registry', 'mesh provisioner registry --json'],
  async run(given, context) {
    const { provisioningBody } = await import('../../bodies/provisioning.ts');
    const body = await provisioningBody(context, 'registry', { module: given.maybe('module') });
    return answer('mesh.provisioner-registry', body, drawRegistry);
  },
};
