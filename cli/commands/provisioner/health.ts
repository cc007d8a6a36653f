import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { exit } from '../../exit.ts';
import { drawHealth } from '../../render/provisioner.ts';

export const provisionerHealth: CommandDefinition = {
  name: 'provisioner health',
  group: 'what is so',
  summary: 'say which modules are postponed on which node, since when, and for which build',
  details: 'Ends with 6 when there is one.',
  options: [
    { name: 'node', value: 'NODE', says: 'only of this node' },
    { name: 'module', value: 'MODULE', says: 'only of this module' },
  ],
  examples: ['mesh provisioner health'],
  async run(given, context) {
    const { withAsker } = await import('../../asking.ts');
    const { asModule, asNode } = await import('../../names.ts');
    const { healthVerb } = await import('../../../src/seats/the-controller/verbs.ts');
    const [node, module] = [given.maybe('node'), given.maybe('module')];
    const of = {
      ...(node !== undefined && { node: asNode(node) }),
      ...(module !== undefined && { module: asModule(module) }),
    };
    const { health, faults } = await withAsker(context, (asker) => asker.ask(healthVerb, of));
    const entries = health.map(({ build, ...rest }) => ({
      ...rest,
      ...(build !== undefined && { build: { ...build } }),
    }));
    return answer(
      'mesh.provisioner-health',
      { entries, faults },
      drawHealth,
      entries.length > 0 ? exit.unwell : exit.done,
    );
  },
};
