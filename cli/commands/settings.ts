import { answer, jsonOf } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawSettings } from '../render/intent.ts';

export const settings: CommandDefinition = {
  name: 'settings',
  group: 'intent',
  summary: 'list what is set, on one node or on all, and which routes have another label than their manifest says',
  arguments: [{ name: 'NODE', says: 'only what is set there', optional: true }],
  examples: ['mesh settings', 'mesh settings beta --json'],
  async run(given, context) {
    const { asNode } = await import('../names.ts');
    const { withController } = await import('../controller.ts');
    const { listSettings } = await import('../../src/operations/intent/set-setting.ts');
    const { listLabels } = await import('../../src/operations/intent/set-label.ts');
    const { nodeByName } = await import('../../src/operations/node/invite-node.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const written = given.maybe('NODE');
    const node = written === undefined ? undefined : asNode(written);
    return withController(context, async ({ store }) => {
      const known = node === undefined ? undefined : await nodeByName(store, node);
      if (isRefusal(known)) return known;
      const rows = await listSettings(store, node);
      const list = rows.map((row) => ({
        node: row.node,
        module: row.module,
        name: row.name,
        value: jsonOf(row.value),
      }));
      const labels = (await listLabels(store, node)).map((row) => ({ ...row }));
      return answer('mesh.settings', { settings: list, labels }, drawSettings);
    });
  },
};
