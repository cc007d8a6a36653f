import type { AtStep } from '../../acts/trying.ts';
import { answer, jsonOf } from '../../answer.ts';
import type { Controller } from '../../controller.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawAct, drawUnbegun } from '../../render/acts.ts';
import { rfc3339 } from '../../render/time.ts';

export const actShow: CommandDefinition = {
  name: 'act show',
  group: 'what is so',
  summary: 'show one act: how far it is, what it waits for, and what came of it',
  arguments: [{ name: 'ACT', says: "the act's id, or what it is about, like push/all" }],
  options: [
    { name: 'wait', says: 'wait until it has ended' },
    { name: 'timeout', value: 'DURATION', kind: 'duration', says: 'with --wait: for how long', byDefault: '10m' },
  ],
  examples: ['mesh act show push/all', 'mesh act show rotate/alpha/postgres-database/beta/notes --wait'],
  async run(given, context) {
    const { z } = await import('zod');
    const { withController } = await import('../../controller.ts');
    const { findAct } = await import('../../acts/find-act.ts');
    const { followAct } = await import('../../acts/follow-act.ts');
    const { actBody, uiLink } = await import('../../bodies/act.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    return withController(context, async (controller) => {
      const { temporal } = controller.foundation;
      let found = await findAct(controller, given.text('ACT'));
      if (isRefusal(found)) return found;
      if (given.flag('wait') && (found.kind === 'not begun' || found.row.endedAt === undefined)) {
        const { workflowId, act } = found.kind === 'begun' ? found.row : found;
        const started = { workflowId, act, attached: true };
        await followAct(started, z.unknown(), {
          client: await controller.temporal(),
          timeoutMs: given.number('timeout'),
          context,
          readAct: controller.readAct,
          refusesWrites: controller.refusesWrites,
        });
        found = await findAct(controller, act);
        if (isRefusal(found)) return found;
      }
      const { workflowId, act } = found.kind === 'begun' ? found.row : found;
      const isOver = found.kind === 'begun' && found.row.endedAt !== undefined;
      // What the store knows of the act is shown also while Temporal is away.
      const step = isOver ? undefined : await stepOf(controller, workflowId, act).catch(() => undefined);
      const failing = step?.trying === undefined ? {} : { trying: step.trying };
      if (found.kind === 'begun') {
        const detail = jsonOf(found.row.detail) ?? {};
        return answer('mesh.act', { ...actBody(found.row, temporal), ...failing, detail }, drawAct);
      }
      const { askedAt } = found;
      const body = {
        act,
        workflowId,
        stage: 'not begun',
        askedAt: rfc3339(askedAt),
        waitsFor: step?.isTakenUp === false ? ['a controller to take it up'] : [],
        ...failing,
        ui: uiLink(temporal, workflowId, act),
      };
      return answer('mesh.act', body, drawUnbegun);
    });
  },
};

async function stepOf({ temporal }: Controller, workflowId: string, act: string): Promise<AtStep> {
  const { promptly } = await import('../../acts/temporal.ts');
  const { atStep } = await import('../../acts/trying.ts');
  const client = await temporal();
  return promptly(client, () => atStep(client, workflowId, act));
}
