import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawNeeds } from '../../render/provisioner.ts';

export const provisionerNeeds: CommandDefinition = {
  name: 'provisioner needs',
  group: 'what is so',
  summary: 'say what the files of modules need, and why something is not met',
  options: [
    { name: 'node', value: 'NODE', says: 'only of this node' },
    { name: 'module', value: 'MODULE', says: 'only of this module' },
  ],
  examples: ['mesh provisioner needs', 'mesh provisioner needs --node alpha'],
  async run(given, context) {
    const { provisioningBody } = await import('../../bodies/provisioning.ts');
    const body = await provisioningBody(context, 'needs', { node: given.maybe('node'), module: given.maybe('module') });
    return answer('mesh.provisioner-needs', body, drawNeeds);
  },
};
