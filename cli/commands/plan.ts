import { answer } from '../answer.ts';
import { planBody } from '../bodies/plan.ts';
import type { CommandDefinition } from '../definition.ts';
import { exit } from '../exit.ts';
import { drawPlan } from '../render/plan.ts';

export const plan: CommandDefinition = {
  name: 'plan',
  group: 'intent',
  summary: 'show, resource by resource, what a push would change, and what a node takes from others',
  details: 'Changes nothing and makes no secret. A node that cannot be resolved is sent nothing; plan says why.',
  arguments: [{ name: 'NODE', says: 'only this one', optional: true, many: true }],
  options: [{ name: 'detailed-exitcode', says: 'end with 2 when a push would change anything' }],
  examples: ['mesh plan', 'mesh plan beta --detailed-exitcode'],
  async run(given, context) {
    const { asNode } = await import('../names.ts');
    const { withController } = await import('../controller.ts');
    const { planNodes } = await import('../../src/operations/plan/plan-nodes.ts');
    const { sha256Hex } = await import('../../src/sealing/digest.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const named = given.many('NODE').map(asNode);
    const planned = await withController(context, ({ store }) =>
      planNodes(store, sha256Hex, named.length === 0 ? undefined : named),
    );
    if (isRefusal(planned)) return planned;
    const ends = given.flag('detailed-exitcode') && planned.hasChanges ? exit.changes : exit.done;
    return answer('mesh.plan', planBody(planned), drawPlan, ends);
  },
};
