/** A14: acts that run while the code changes go on. Histories of real runs are played against the present workflows. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DeterminismViolationError } from '@temporalio/workflow';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import * as workflows from '../../src/workflows/index.ts';

const folder = path.join(import.meta.dirname, 'histories');
const bundle = path.resolve('dist/workflow-bundle.js');
const saved = z.object({
  workflowId: z.string(),
  history: z.object({ events: z.array(z.looseObject({ eventType: z.string() })) }),
});
type Saved = z.infer<typeof saved>;

const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = (name: string): Saved => saved.parse(JSON.parse(readFileSync(path.join(folder, name), 'utf8')));

Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });

/** What replaying came to, by workflow id and nothing else: undefined is well. */
async function replay(histories: readonly Saved[]): Promise<readonly (Error | undefined)[]> {
  const played = Worker.runReplayHistories(
    { workflowBundle: { codePath: bundle } },
    histories.map(({ workflowId, history }) => ({ workflowId, history: historyFromJSON(history) })),
  );
  const errors: (Error | undefined)[] = [];
  for await (const { error } of played) errors.push(error);
  return errors;
}

const typesIn = ({ history }: Saved): readonly string[] =>
  [...JSON.stringify(history).matchAll(/"workflowType":\{"name":"(\w+)"\}/g)].map(([, name]) => name ?? '');

test('[A14] a saved history of every act replays against the present code', async () => {
  const histories = files.map(read);
  expect(new Set(histories.flatMap(typesIn))).toEqual(new Set(Object.keys(workflows)));
  expect(await replay(histories)).toEqual(histories.map(() => undefined));
}, 120_000);

test('[A14] a history that the present code would not have written is told', async () => {
  const text = readFileSync(path.join(folder, 'rotate-overlapping.json'), 'utf8');
  expect(text).toContain('"tellProviders"');
  const altered = saved.parse(JSON.parse(text.replace('"tellProviders"', '"tellNobody"')));
  const [error] = await replay([altered]);
  expect(error).toBeInstanceOf(DeterminismViolationError);
}, 120_000);

test('[A11] [C85] every saved history is short: far below two thousand events, whatever the act', () => {
  for (const name of files) expect(read(name).history.events.length).toBeLessThan(100);
});
