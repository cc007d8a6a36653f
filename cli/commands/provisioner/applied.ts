import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawApplied } from '../../render/provisioner.ts';

export const provisionerApplied: CommandDefinition = {
  name: 'provisioner applied',
  group: 'what is so',
  summary: 'say what each node has applied of its modules: version, and generations of credentials in its files',
  options: [
    { name: 'node', value: 'NODE', says: 'only of this node' },
    { name: 'module', value: 'MODULE', says: 'only of this module' },
  ],
  examples: ['mesh provisioner applied', 'mesh provisioner applied --module notes'],
  async run(given, context) {
    const { provisioningBody } = await import('../../bodies/provisioning.ts');
    const body = await provisioningBody(context, 'applied', {
      node: given.maybe('node'),
      module: given.maybe('module'),
    });
    return answer('mesh.provisioner-applied', body, drawApplied);
  },
};
