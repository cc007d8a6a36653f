import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { followStatus } from '../../src/operations/plan/follow-status.ts';
import type { Status } from '../../src/operations/plan/status.ts';
import { recordReport } from '../../src/operations/report/record-report.ts';
import { until } from '../support/until.ts';
import { add, aReport, hash, join, raiseWorlds, type World, type Worlds } from './world.ts';

let worlds: Worlds;
let world: World;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());
beforeEach(async () => {
  world = await worlds.make();
});

/** Follows until told to stop; `time` is the controller's clock, which the test moves. */
function following() {
  const stop = new AbortController();
  const shown: { readonly now: Status; readonly before: Status | undefined }[] = [];
  const of = { time: Date.now(), looks: 0, marks: 0 };
  const store: typeof world.store = {
    ...world.store,
    read: (look) =>
      world.store.read((view) =>
        look({
          ...view,
          inventory: () => ((of.looks += 1), view.inventory()),
          mark: () => ((of.marks += 1), view.mark()),
        }),
      ),
  };
  const ended = followStatus(
    store,
    {
      hash,
      now: () => of.time,
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms / 20)),
      signal: stop.signal,
    },
    (now, before) => void shown.push({ now, before }),
  );
  const end = async (): Promise<void> => (stop.abort(), ended);
  return { shown, of, end };
}
const within = { withinMs: 10_000 };
const say = (sequence: number, with_: Parameters<typeof aReport>[1]) =>
  recordReport(world.store, aReport('alpha', { sequence, ...with_ }), Date.now());

test('[D24] shows what is so at once, and again when anything became another one, with what was before', async () => {
  await join(world, 'alpha');
  const { shown, end } = following();
  await until(() => shown.length === 1, { ...within, what: 'the first picture' });
  expect(shown[0]).toMatchObject({ before: undefined, now: { nodes: [{ node: 'alpha', outcome: 'idle' }] } });
  await say(2, { outcome: 'failed', declared: 2, applied: 1, failures: [{ resource: 'a/file/a', error: 'x' }] });
  await until(() => shown.length === 2, { ...within, what: 'the failure' });
  expect(shown[1]).toMatchObject({ before: { nodes: [{ outcome: 'idle' }] }, now: { nodes: [{ concern: 'broken' }] } });
  await say(3, { outcome: 'applied', declared: 2, applied: 2, drift: ['/etc/a had been changed and was put back'] });
  await until(() => shown.length === 3, { ...within, what: 'the drift' });
  expect(shown[2]?.now.nodes[0]?.lastReport?.drift).toEqual(['/etc/a had been changed and was put back']);
  await end();
});

test('[D24] [D18] the same failure once more is no news; that it is stuck by then is', async () => {
  await join(world, 'alpha');
  const { shown, end } = following();
  await until(() => shown.length === 1, { ...within, what: 'the first picture' });
  const failing = (sequence: number) =>
    say(sequence, { outcome: 'failed', declared: 1, applied: 0, failures: [{ resource: 'a/file/a', error: 'x' }] });
  for (const sequence of [2, 3, 4, 5, 6]) await failing(sequence);
  await until(() => shown.at(-1)?.now.nodes[0]?.lastReport?.failing?.stuck === true, {
    ...within,
    what: 'it to be stuck',
  });
  await add(world, { module: 'new' });
  await failing(7);
  await say(8, { outcome: 'applied', declared: 1, applied: 1 });
  await until(() => shown.at(-1)?.now.nodes[0]?.outcome === 'applied', { ...within, what: 'it to be mended' });
  expect(shown.length).toBeLessThanOrEqual(4);
  await end();
});

test('[D24] reads in full only after something was written, and when a node may have become quiet', async () => {
  await join(world, 'alpha');
  const { shown, of, end } = following();
  await until(() => of.marks >= 20, { ...within, what: 'it to have asked often' });
  expect(of.looks).toBe(1);
  of.time += 4 * 60_000;
  await until(() => shown.length === 2, { ...within, what: 'the silence' });
  expect(shown[1]?.now.nodes).toMatchObject([{ hearing: 'quiet', concern: 'not answering' }]);
  expect(of.looks).toBe(2);
  await end();
});
