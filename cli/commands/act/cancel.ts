import type { Refusal } from '../../../src/domain/refusal/refusal.ts';
import type { FoundAct } from '../../acts/find-act.ts';
import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawCancelled } from '../../render/acts.ts';

export const actCancel: CommandDefinition = {
  name: 'act cancel',
  group: 'what is so',
  summary: 'ask an act to stop and undo what it has done',
  details: 'A rotation that has committed goes forward only, and is refused. What was undone stands in its record.',
  arguments: [{ name: 'ACT', says: "the act's id, or what it is about, like push/all" }],
  examples: ['mesh act cancel push/all'],
  async run(given, context) {
    const { withController } = await import('../../controller.ts');
    const { findAct } = await import('../../acts/find-act.ts');
    const { promptly } = await import('../../acts/temporal.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    return withController(context, async (controller) => {
      const found = await findAct(controller, given.text('ACT'));
      if (isRefusal(found)) return found;
      const refusal = refuseToCancel(found);
      if (refusal !== undefined) return refusal;
      const { workflowId, act } = found.kind === 'begun' ? found.row : found;
      const client = await controller.temporal();
      await promptly(client, () => client.workflow.getHandle(workflowId, act).cancel());
      return answer('mesh.act-cancelled', { act, workflowId }, drawCancelled);
    });
  },
};

function refuseToCancel(found: FoundAct): Refusal | undefined {
  if (found.kind === 'not begun') return undefined;
  const { workflowId, stage, endedAt, committedAt } = found.row;
  if (endedAt !== undefined) {
    return {
      kind: 'nothing-to-do',
      what: `${workflowId} has ended: it is ${stage}`,
      why: 'only what still runs can be stopped',
      next: [`mesh act show ${workflowId}`],
      facts: { act: workflowId, stage },
    };
  }
  if (committedAt === undefined) return undefined;
  return {
    kind: 'act-committed',
    what: `${workflowId} has committed`,
    why: 'the new credentials are the mesh’s by now; going back would leave two ends with different ones',
    next: [`mesh act show ${workflowId}`],
    facts: { act: workflowId },
  };
}
