/** A13: how steps are tried again, and that none is for ever in silence. The clock is the one thing here that is played. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { z } from 'zod';
import { failing } from '../../src/operations/plan/status.ts';
import { sayFailingSteps } from '../../src/workers/failing-steps.ts';
import * as classes from '../../src/workflows/activity-classes.ts';

const began = Date.parse('2026-01-01T12:00:00Z');

/** One attempt of a step, `afterMs` after it was first asked for; answers what its act's record was told. */
async function attemptOf(step: { attempt: number; afterMs: number; does: () => Promise<unknown> }) {
  const noted: Record<string, unknown>[] = [];
  const note = async (_act: string, detail: Readonly<Record<string, unknown>>): Promise<void> => {
    noted.push({ ...detail });
  };
  const info = { activityType: 'tellProviders', attempt: step.attempt, scheduledTimestampMs: began };
  const { execute } = sayFailingSteps(
    { note },
    () => began + step.afterMs,
    () => info,
  );
  const outcome = await execute?.({ args: ['act-1'], headers: {} }, step.does).then(
    () => 'done',
    () => 'failed',
  );
  return { noted, outcome };
}
const breaks = async (): Promise<never> => {
  throw new Error('the bus is away', { cause: new Error('connect ECONNREFUSED') });
};

describe('a step that keeps failing', () => {
  test('[A13] [C55] is said after two minutes: which, how often, since when, and its last fault with its causes', async () => {
    const { noted, outcome } = await attemptOf({ attempt: 14, afterMs: 120_000, does: breaks });
    expect(outcome).toBe('failed');
    expect(noted).toHaveLength(1);
    const said = failing(noted[0] ?? {});
    for (const words of ['tellProviders', '14 times', '2026-01-01T12:00:00', 'the bus is away', 'ECONNREFUSED'])
      expect(said).toContain(words);
  });

  test('[A13] is not said before: what mends itself is nobody’s business', async () => {
    expect((await attemptOf({ attempt: 13, afterMs: 119_999, does: breaks })).noted).toEqual([]);
    expect((await attemptOf({ attempt: 1, afterMs: 500_000, does: breaks })).noted).toEqual([]);
  });

  test('[A13] is taken back once it goes through', async () => {
    const { noted, outcome } = await attemptOf({ attempt: 15, afterMs: 130_000, does: async () => 1 });
    expect(outcome).toBe('done');
    expect(noted.map(failing)).toEqual([undefined]);
  });

  test('[A13] [C55] what is final, and what was cancelled, is no failing step', async () => {
    const ends = [ApplicationFailure.nonRetryable('no', 'RotationRefused'), new CancelledFailure('cancelled')];
    for (const end of ends)
      expect((await attemptOf({ attempt: 14, afterMs: 130_000, does: () => Promise.reject(end) })).noted).toEqual([]);
  });
});

describe('how steps are tried', () => {
  test.each(Object.entries(classes))('[A13] [C55] the class %s has an end, a beat and growing pauses', (_, options) => {
    expect(options).toMatchObject({
      startToCloseTimeout: expect.any(String),
      heartbeatTimeout: expect.any(String),
      retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '10s' },
    });
  });

  test('[A13] every step of every act has these settings where it counts: in what the server was told', () => {
    const scheduled = z.object({
      activityType: z.object({ name: z.string() }),
      startToCloseTimeout: z.string().regex(/^[1-9]/),
      heartbeatTimeout: z.string().regex(/^[1-9]/),
      retryPolicy: z.object({ maximumInterval: z.literal('10s'), backoffCoefficient: z.literal(2) }),
    });
    const folder = path.resolve('test/replay/histories');
    const steps = readdirSync(folder).flatMap((name) =>
      z
        .object({
          history: z.object({
            events: z.array(z.looseObject({ activityTaskScheduledEventAttributes: z.unknown().optional() })),
          }),
        })
        .parse(JSON.parse(readFileSync(path.join(folder, name), 'utf8')))
        .history.events.flatMap(({ activityTaskScheduledEventAttributes: of }) => (of === undefined ? [] : [of])),
    );
    expect(steps.length).toBeGreaterThan(20);
    for (const step of steps) scheduled.parse(step);
  });
});
