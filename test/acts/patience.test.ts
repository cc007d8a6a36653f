/** How a step waits for nodes: it looks no more often than there can be something new, and no announcement is trusted to come. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { inActivity } from '../../bench/in-activity.ts';
import { untilReported } from '../../src/activities/patience.ts';
import { createWakes } from '../../src/workers/wakes.ts';

/** Waits until so many answered; `looks` counts. */
function waitingFor(many: number) {
  const wakes = createWakes();
  const world = { answered: 0, looks: 0 };
  const look = async () => {
    world.looks += 1;
    const late = many - world.answered;
    return late <= 0 ? { done: 'all' } : { waitsFor: [`${late} more`], reports: late };
  };
  const done = inActivity(() => untilReported(wakes, look, async () => undefined));
  return { world, wakes, done };
}

test('[A11] a step that waits for many looks again once as many reported, not once a report', async () => {
  const { world, wakes, done } = waitingFor(50);
  await turn();
  for (let at = 0; at < 50; at += 1) {
    world.answered += 1;
    wakes.wake();
    await turn();
  }
  expect(await done).toBe('all');
  expect(world.looks).toBe(2);
});

test('[A11] reports of others make it look before all answered, and it looks once more', async () => {
  const { world, wakes, done } = waitingFor(2);
  await turn();
  world.answered = 1;
  wakes.wake();
  wakes.wake();
  for (let at = 0; world.looks < 2 && at < 1_000; at += 1) await turn();
  world.answered = 2;
  wakes.wake();
  expect(await done).toBe('all');
});

test('[A1.4] what was announced to nobody is seen all the same', async () => {
  const { world, done } = waitingFor(2);
  await turn();
  world.answered = 2;
  expect(await done).toBe('all');
});
