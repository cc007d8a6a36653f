import { answer } from '../../answer.ts';
import { secretBody } from '../../bodies/secret.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawSecrets } from '../../render/secrets.ts';

export const secretList: CommandDefinition = {
  name: 'secret list',
  group: 'secrets',
  summary: 'list credentials and own secrets: between whom, how old, which generation; never a value',
  examples: ['mesh secret list', 'mesh secret list --json'],
  async run(_given, context) {
    const { withController } = await import('../../controller.ts');
    const { listSecrets } = await import('../../../src/operations/secret/list-secrets.ts');
    const rows = await withController(context, ({ store }) => listSecrets(store));
    return answer('mesh.secrets', { secrets: rows.map(secretBody) }, drawSecrets);
  },
};
