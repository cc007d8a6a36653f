import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { problem, Stopped } from '../problem.ts';

export const completion: CommandDefinition = {
  name: 'completion',
  group: 'processes',
  summary: 'print what makes bash, zsh or fish complete commands, options and the names of this mesh',
  details: 'Names are asked of the mesh as they are completed. Works with nothing configured: then there are none.',
  arguments: [{ name: 'SHELL', says: 'bash, zsh or fish' }],
  examples: [
    'source <(mesh completion bash)   # in ~/.bashrc',
    'source <(mesh completion zsh)    # in ~/.zshrc, after compinit',
    'mesh completion fish | source    # in ~/.config/fish/config.fish',
  ],
  async run(given) {
    const { completionScripts } = await import('../completion/scripts.ts');
    const shell = given.text('SHELL');
    const script = new Map(Object.entries(completionScripts)).get(shell);
    if (script === undefined) {
      throw new Stopped(
        problem('usage', {
          what: `there is no completion for ${JSON.stringify(shell)}`,
          why: `one of: ${Object.keys(completionScripts).join(', ')}`,
          next: ['mesh completion --help'],
        }),
      );
    }
    return answer('mesh.completion', { shell, script }, (of) => of.script);
  },
};
