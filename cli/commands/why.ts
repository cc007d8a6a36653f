import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawWhy } from '../render/why.ts';

export const why: CommandDefinition = {
  name: 'why',
  group: 'what is so',
  summary: 'say why something is as it is: one chain from intent to fact, and the command to run next',
  details:
    'THING is a node, a module, NODE/MODULE, a binding (NODE/MODULE/PROVISION), a port (NODE:PORT, NODE:PORT/udp), a routed name, or a credential or own secret as mesh secret list names it.',
  arguments: [{ name: 'THING', says: 'what it is about' }],
  examples: ['mesh why beta', 'mesh why beta/notes', 'mesh why beta/notes/postgres-database', 'mesh why alpha:20000'],
  async run(given, context) {
    const { withController } = await import('../controller.ts');
    const { why: explain } = await import('../../src/operations/why/why.ts');
    const { sha256Hex } = await import('../../src/sealing/digest.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const told = await withController(context, ({ store }) =>
      explain(store, sha256Hex, Date.now(), given.text('THING')),
    );
    if (isRefusal(told)) return told;
    const { thing, kind, links, next } = told;
    const body = {
      thing,
      kind: String(kind),
      links: links.map(({ of, says, holds, next: then }) => ({ of: String(of), says, holds, next: then })),
      next,
    };
    return answer('mesh.why', body, drawWhy);
  },
};
