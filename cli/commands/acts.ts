import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawActs } from '../render/acts.ts';

export const acts: CommandDefinition = {
  name: 'acts',
  group: 'what is so',
  summary: 'list the durable acts, the newest first, with their links to the Temporal UI',
  options: [
    { name: 'open', says: 'only those that have not ended' },
    { name: 'limit', value: 'N', kind: 'count', says: 'how many at most', byDefault: '20' },
  ],
  examples: ['mesh acts --open', 'mesh acts --json'],
  async run(given, context) {
    const { withController } = await import('../controller.ts');
    const { actBody } = await import('../bodies/act.ts');
    const { unbegunActs } = await import('../acts/unbegun.ts');
    const { listActs } = await import('../../src/operations/plan/list-acts.ts');
    return withController(context, async (controller) => {
      const { store, foundation } = controller;
      const { temporal } = foundation;
      const which = { limit: given.number('limit'), openOnly: given.flag('open') };
      const [rows, waiting] = await Promise.all([listActs(store, which), unbegunActs(controller)]);
      return answer(
        'mesh.acts',
        { acts: rows.map((row) => actBody(row, temporal)), ...waiting, temporalUi: temporal.uiUrl },
        drawActs,
      );
    });
  },
};
