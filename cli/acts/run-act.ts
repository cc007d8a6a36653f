/** What every command that starts an act does: start it or join it, then wait for it or leave it. */
import type { z } from 'zod';

import { isRefusal, type Refusal } from '../../src/domain/refusal/refusal.ts';
import { answer, type Answer, type Body } from '../answer.ts';
import { uiLink } from '../bodies/act.ts';
import type { Context } from '../context.ts';
import type { Controller } from '../controller.ts';
import type { ExitCode } from '../exit.ts';
import type { Given } from '../given.ts';
import type { Look } from '../render/look.ts';
import { drawDetached } from '../render/acts.ts';
import { followAct, hasBegun } from './follow-act.ts';
import { startAct, type ActAsked } from './start-act.ts';

export type Ending<Result> = {
  readonly schema: `mesh.${string}`;
  readonly result: z.ZodType<Result>;
  readonly draw: (
    body: Body & Result & { readonly attached: boolean; readonly workflowId: string; readonly ui: string },
    look: Look,
  ) => string;
  readonly exitCode: (result: Result) => ExitCode;
};

/** Starts or joins an act, and answers its outcome; with `--detach`, its id as soon as it has begun. */
export async function runAct<Result extends Body>(
  { context, controller, given }: { readonly context: Context; readonly controller: Controller; readonly given: Given },
  asked: ActAsked,
  ending: Ending<Result>,
): Promise<Answer | Refusal> {
  const client = await controller.temporal();
  const started = await startAct(client, asked);
  if (isRefusal(started)) return started;
  const { workflowId, act, attached } = started;
  const ui = uiLink(controller.foundation.temporal, workflowId, act);
  context.progress.say(`${attached ? 'Joined what runs already' : asked.summary}: ${workflowId}`);
  if (given.flag('detach')) {
    const begun = await hasBegun(started, { client, ...controller });
    if (begun !== 'begun') context.progress.say(begun.says);
    const nobodyWorksOn = begun === 'begun' ? undefined : begun.nobodyWorksOn;
    return answer(
      'mesh.act-started',
      {
        act,
        workflowId,
        attached,
        begun: begun === 'begun',
        ...(nobodyWorksOn !== undefined && { nobodyWorksOn }),
        ui,
      },
      drawDetached,
    );
  }
  const result = await followAct(started, ending.result, {
    client,
    timeoutMs: given.number('timeout'),
    context,
    readAct: controller.readAct,
    refusesWrites: controller.refusesWrites,
  });
  return answer(ending.schema, { ...result, attached, workflowId, ui }, ending.draw, ending.exitCode(result));
}
