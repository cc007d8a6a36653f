import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawCollect } from '../../render/provisioner.ts';

export const provisionerCollect: CommandDefinition = {
  name: 'provisioner collect',
  group: 'what is so',
  summary: 'say what modules contribute to collections, over the whole mesh',
  options: [
    { name: 'node', value: 'NODE', says: 'only of this node' },
    { name: 'module', value: 'MODULE', says: 'only what this module contributes' },
    { name: 'collection', value: 'NAME', says: 'only of this collection' },
  ],
  examples: ['mesh provisioner collect', 'mesh provisioner collect --collection route'],
  async run(given, context) {
    const { provisioningBody } = await import('../../bodies/provisioning.ts');
    const body = await provisioningBody(context, 'collect', {
      node: given.maybe('node'),
      module: given.maybe('module'),
      collection: given.maybe('collection'),
    });
    return answer('mesh.provisioner-collect', body, drawCollect);
  },
};
