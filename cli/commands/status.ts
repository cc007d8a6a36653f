import type { Status } from '../../src/operations/plan/status.ts';
import { answer, type Answer } from '../answer.ts';
import type { Context } from '../context.ts';
import type { Controller } from '../controller.ts';
import type { CommandDefinition } from '../definition.ts';
import { exit } from '../exit.ts';
import { problem, Stopped } from '../problem.ts';
import { drawStatus } from '../render/status.ts';

export const status: CommandDefinition = {
  name: 'status',
  group: 'what is so',
  summary: 'say how every node stands: what is broken, what does not answer, what is out of date',
  details: 'Ends with 6 when something here is for a person to look at.',
  options: [{ name: 'watch', short: 'w', says: 'go on until Ctrl-C, and say it anew when it changes' }],
  examples: ['mesh status', 'mesh status --watch', 'mesh status --json'],
  async run(given, context) {
    const { withController } = await import('../controller.ts');
    return withController(context, (controller) =>
      given.flag('watch') ? watch(controller, context) : look(controller),
    );
  },
};

async function look({ store, foundation }: Controller): Promise<Answer> {
  const { status: read } = await import('../../src/operations/plan/status.ts');
  const { sha256Hex } = await import('../../src/sealing/digest.ts');
  const now: Status = await read(store, sha256Hex, Date.now());
  return answer(
    'mesh.status',
    { ...now, temporalUi: foundation.temporal.uiUrl },
    drawStatus,
    now.needsAttention ? exit.unwell : exit.done,
  );
}

const lookEveryMs = 1_000;

async function watch(controller: Controller, { print, isJson, look: { isTerminal } }: Context): Promise<never> {
  const { untilTold } = await import('../processes.ts');
  const told = untilTold();
  let shown = '';
  while (!told.aborted) {
    const now = await look(controller);
    // On a terminal the times move, so it is drawn anew each time; elsewhere only what changed is worth a line.
    const said = JSON.stringify(now.body);
    if (isTerminal && !isJson) process.stdout.write('\u001b[H\u001b[2J');
    if ((isTerminal && !isJson) || said !== shown) print(now);
    shown = said;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lookEveryMs);
      told.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
  throw new Stopped(
    problem('interrupted', { what: 'you stopped watching', why: 'nothing else was stopped', next: ['mesh status'] }),
  );
}
