import type { Status } from '../../src/operations/plan/status.ts';
import type { Waiting } from '../acts/unbegun.ts';
import { answer, type Answer } from '../answer.ts';
import type { Context } from '../context.ts';
import type { Controller } from '../controller.ts';
import type { CommandDefinition } from '../definition.ts';
import { exit } from '../exit.ts';
import { problem, Stopped } from '../problem.ts';
import { drawStatus } from '../render/status.ts';
import { drawStatusChanges, waitingLines } from '../render/status-changes.ts';

export const status: CommandDefinition = {
  name: 'status',
  group: 'what is so',
  summary: 'say how every node stands: what is broken, what does not answer, what is out of date',
  details:
    'Ends with 6 when something here is for a person to look at. With --watch: on a terminal the picture is painted anew when anything changes; elsewhere the whole is said once and then a line for each change; with --json, one object a line.',
  options: [{ name: 'watch', short: 'w', says: 'go on until Ctrl-C, and say what changes as it does' }],
  examples: ['mesh status', 'mesh status --watch', 'mesh status --json'],
  async run(given, context) {
    const { withController } = await import('../controller.ts');
    return withController(context, (controller) =>
      given.flag('watch') ? watch(controller, context) : look(controller),
    );
  },
};

async function look(controller: Controller): Promise<Answer> {
  const { status: read } = await import('../../src/operations/plan/status.ts');
  const { sha256Hex } = await import('../../src/sealing/digest.ts');
  const { unbegunActs } = await import('../acts/unbegun.ts');
  const { store, foundation } = controller;
  const [now, waiting] = await Promise.all([read(store, sha256Hex, Date.now()), unbegunActs(controller)]);
  return answerOf(now, foundation, waiting);
}

/** What the store says; and what waits to be begun, which Temporal alone knows. */
function answerOf(now: Status, { temporal }: Controller['foundation'], waiting: Waiting): Answer {
  const { unbegun = [], unbegunUnknown } = waiting;
  const needsAttention = now.needsAttention || unbegun.length > 0 || unbegunUnknown !== undefined;
  return answer(
    'mesh.status',
    { ...now, ...waiting, needsAttention, temporalUi: temporal.uiUrl },
    drawStatus,
    needsAttention ? exit.unwell : exit.done,
  );
}

/** How often a terminal is painted anew although nothing happened: the times on it move. */
const repaintEveryMs = 1_000;
/** How often Temporal is asked which acts wait to be begun: nothing is written when one does. */
const askEveryMs = 3_000;

async function watch(controller: Controller, { print, repaint, isJson }: Context): Promise<never> {
  const { pauseUntil, untilTold } = await import('../processes.ts');
  const { followStatus } = await import('../../src/operations/plan/follow-status.ts');
  const { sha256Hex } = await import('../../src/sealing/digest.ts');
  const { unbegunActs } = await import('../acts/unbegun.ts');
  const { store, foundation } = controller;
  const over = new AbortController();
  const signal = AbortSignal.any([untilTold(), over.signal]);
  let waiting = await unbegunActs(controller);
  let [status, shown]: [Status | undefined, (Status & Waiting) | undefined] = [undefined, undefined];
  let painted: Answer | undefined;
  const show = (): void => {
    if (status === undefined) return;
    const [before, now] = [shown, { ...status, ...waiting }];
    const found = answerOf(status, foundation, waiting);
    if (repaint !== undefined) repaint((painted = found));
    else if (before === undefined || isJson) print(found);
    else print({ ...found, text: (look) => drawStatusChanges(before, now, look) });
    shown = now;
  };
  const askAboutWaiting = async (): Promise<void> => {
    while (!signal.aborted) {
      await pauseUntil(askEveryMs, signal);
      const found = await unbegunActs(controller);
      if (waitingLines(waiting, found).length === 0) continue;
      waiting = found;
      show();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  if (repaint !== undefined)
    timer = setInterval(() => {
      if (painted !== undefined) repaint(painted);
    }, repaintEveryMs);
  try {
    const following = { hash: sha256Hex, now: Date.now, pause: (ms: number) => pauseUntil(ms, signal), signal };
    // Following ends with a store that is gone as well, and the command with it.
    await Promise.race([
      followStatus(store, following, (found) => {
        status = found;
        show();
      }),
      askAboutWaiting(),
    ]);
  } finally {
    over.abort();
    clearInterval(timer);
  }
  throw new Stopped(
    problem('interrupted', { what: 'you stopped watching', why: 'nothing else was stopped', next: ['mesh status'] }),
  );
}
