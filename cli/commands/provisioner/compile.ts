import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { exit } from '../../exit.ts';
import { drawCompiled } from '../../render/provisioner.ts';

export const provisionerCompile: CommandDefinition = {
  name: 'provisioner compile',
  group: 'what is so',
  summary: 'compile the registry of placeholder kinds now, not at the next hour',
  details: 'Writes only what differs. Ends with 6 when two modules answer one kind, or one answers it wrongly.',
  options: [
    {
      name: 'timeout',
      value: 'DURATION',
      kind: 'duration',
      says: 'how long to wait for the outcome',
      byDefault: '30s',
    },
  ],
  examples: ['mesh provisioner compile'],
  async run(given, context) {
    const { withController } = await import('../../controller.ts');
    const { compileNow } = await import('../../acts/compile-now.ts');
    const result = await withController(context, async ({ temporal }) =>
      compileNow(await temporal(), given.number('timeout')),
    );
    return answer('mesh.provisioner-compile', result, drawCompiled, result.refusedCount > 0 ? exit.unwell : exit.done);
  },
};
