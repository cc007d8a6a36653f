import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { problem, Stopped } from '../../problem.ts';
import { drawInvited } from '../../render/nodes.ts';
import { rfc3339, span } from '../../render/time.ts';

export const nodeInvite: CommandDefinition = {
  name: 'node invite',
  group: 'nodes',
  summary: 'print one token that lets one machine join, once, before it expires',
  details:
    'The token is a secret: it is printed alone on stdout, or written into a new file that only you can read. The machine dials out; nothing here connects to it.',
  arguments: [{ name: 'NODE', says: 'what the machine will be called: lower-case letters, digits, inner hyphens' }],
  options: [
    { name: 'expires', value: 'DURATION', kind: 'duration', says: 'how long the token is good', byDefault: '1h' },
    { name: 'out', value: 'FILE', says: 'a new file for the token (0600), instead of stdout' },
    {
      name: 'timeout',
      value: 'DURATION',
      kind: 'duration',
      says: 'how long a controller may take to open it',
      byDefault: '30s',
    },
  ],
  examples: ['mesh node invite alpha --out alpha.token', 'mesh node invite alpha | ssh alpha mesh node join'],
  async run(given, context) {
    const { asNode } = await import('../../names.ts');
    const { withController } = await import('../../controller.ts');
    const { invite } = await import('../../invitations.ts');
    const { writeSecretFile } = await import('../../secret-files.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const node = asNode(given.text('NODE'));
    const file = given.maybe('out');
    if (context.isJson && file === undefined) {
      throw new Stopped(
        problem('usage', {
          what: 'mesh node invite --json needs --out FILE',
          why: 'the token is a secret, and no answer in JSON ever holds one',
          next: [`mesh node invite ${node} --json --out ${node}.token`],
        }),
      );
    }
    const asked = { node, expiresInMs: given.number('expires'), timeoutMs: given.number('timeout') };
    const invited = await withController(context, (controller) => invite(controller, context, asked));
    if (isRefusal(invited)) return invited;
    const { line, expiresAt, started } = invited;
    if (file === undefined) {
      context.printRaw(line);
      context.progress.say(
        `One token for ${node}, good for ${span(asked.expiresInMs)}. There: mesh node join --token-file FILE, then mesh host`,
      );
      return undefined;
    }
    await writeSecretFile(file, `${line}\n`);
    return answer(
      'mesh.invitation',
      { node, file, expiresAt: rfc3339(expiresAt), act: started.act, workflowId: started.workflowId },
      drawInvited,
    );
  },
};
