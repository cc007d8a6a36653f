import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';

export const complete: CommandDefinition = {
  name: 'complete',
  group: 'processes',
  hidden: true,
  summary: 'say what may stand where the last word is, one a line',
  details:
    'For the scripts that mesh completion prints. The words of a command line follow --, the one to complete last.',
  arguments: [{ name: 'WORD', says: 'a word of the command line', optional: true, many: true }],
  examples: ["mesh complete -- node show ''"],
  async run(given, context) {
    const { completionsOf } = await import('../completion/completions.ts');
    const { namesOfMesh } = await import('../completion/names-of-mesh.ts');
    const { builtCommands } = await import('../built-commands.ts');
    const words = given.many('WORD');
    const candidates = await completionsOf(words, builtCommands(), (kind) => namesOfMesh(kind, words, context));
    return answer('mesh.completions', { candidates }, (of) => of.candidates.join('\n'));
  },
};
