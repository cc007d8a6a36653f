import { answer } from '../answer.ts';
import type { EventBody } from '../bodies/act.ts';
import type { Context } from '../context.ts';
import type { Controller } from '../controller.ts';
import type { CommandDefinition } from '../definition.ts';
import { problem, Stopped } from '../problem.ts';
import { drawEvent, drawEvents } from '../render/acts.ts';

export const events: CommandDefinition = {
  name: 'events',
  group: 'what is so',
  summary: 'say what happened, to what, and who asked for it',
  details: 'With --follow and --json: one object a line.',
  options: [
    { name: 'follow', short: 'f', says: 'go on until Ctrl-C' },
    { name: 'about', value: 'THING', says: 'only what happened to this: a node, a module, a credential, an act' },
    { name: 'limit', value: 'N', kind: 'count', says: 'how many at most', byDefault: '50' },
  ],
  examples: ['mesh events', 'mesh events -f', 'mesh events --about alpha --json'],
  async run(given, context) {
    const { withController } = await import('../controller.ts');
    return withController(context, async (controller) => {
      const about = given.maybe('about');
      const first = await read(controller, given.number('limit'), about);
      if (!given.flag('follow')) return answer('mesh.events', { events: first }, drawEvents);
      return follow(controller, context, about, first);
    });
  },
};

/** The newest last. */
async function read({ store }: Controller, limit: number, about: string | undefined): Promise<readonly EventBody[]> {
  const { listEvents } = await import('../../src/operations/plan/list-acts.ts');
  const { eventBody } = await import('../bodies/act.ts');
  return (await listEvents(store, { limit, ...(about === undefined ? {} : { about }) })).map(eventBody).toReversed();
}

const lookEveryMs = 500;
/** More than a look reads, so that nothing it reads again is said again. */
const keptIds = 2_000;

async function follow(
  controller: Controller,
  { print }: Context,
  about: string | undefined,
  first: readonly EventBody[],
): Promise<never> {
  const { pauseUntil, untilTold } = await import('../processes.ts');
  const told = untilTold();
  // By id and not by the highest one: an event is seen when its transaction commits, which may be after a later one's.
  const seen = new Set<number>();
  const from = first[0]?.id ?? 0;
  let found = first;
  for (;;) {
    for (const event of found) {
      if (seen.has(event.id) || event.id < from) continue;
      print(answer('mesh.event', event, drawEvent));
      seen.add(event.id);
    }
    for (const id of seen) if (seen.size > keptIds) seen.delete(id);
    if (told.aborted) break;
    await pauseUntil(lookEveryMs, told);
    found = await read(controller, 500, about);
  }
  throw new Stopped(
    problem('interrupted', { what: 'you stopped following', why: 'nothing else was stopped', next: ['mesh events'] }),
  );
}
