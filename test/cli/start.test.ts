/** What the command loads before it does what it was asked (U7). The time that it takes is the bench's matter: `npm run bench help`. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { commandTable } from '../../cli/command-table.ts';

const main = path.resolve('dist/cli/main.js');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'mesh-start-'));
});
afterAll(() => rm(folder, { recursive: true }));

const asUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** Every module that a command line has loaded by its end, as a path within the package. */
async function loadedBy(...words: readonly string[]): Promise<readonly string[]> {
  const list = path.join(folder, `loaded-by-${words.join('-').replaceAll('/', '_')}`);
  const hooks = `import { appendFileSync } from 'node:fs';
    export function load(url, context, next) {
      if (url.startsWith('file:')) appendFileSync(${JSON.stringify(list)}, url + '\\n');
      return next(url, context);
    }`;
  const start = `import { register } from 'node:module'; register(${JSON.stringify(asUrl(hooks))});`;
  await promisify(execFile)(process.execPath, ['--import', asUrl(start), main, ...words]).catch(() => undefined);
  return (await readFile(list, 'utf8')).trimEnd().split('\n');
}
const packagesOf = (urls: readonly string[]): readonly string[] => [
  ...new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])),
];
const commandsOf = (urls: readonly string[]): readonly string[] =>
  urls.flatMap((url) => /\/dist\/cli\/commands\/(.*)\.js$/.exec(url)?.[1] ?? []);

test('[U7] help loads no command, and no package but the one that reads the command line', async () => {
  const loaded = await loadedBy('--help');
  expect(packagesOf(loaded)).toEqual(['commander']);
  expect(commandsOf(loaded)).toEqual([]);
  expect(loaded.length).toBeLessThan(30);
});

test('[U7] a command loads itself, and none of the others', async () => {
  expect(commandsOf(await loadedBy('completion', 'bash'))).toEqual(['completion']);
  expect(commandsOf(await loadedBy('node', 'list', '--state', folder))).toEqual(['node/list']);
});

test('[U5] what the build wrote down of the commands is what their definitions say', async () => {
  const written: unknown = JSON.parse(await readFile(path.resolve('dist/cli/commands.json'), 'utf8'));
  expect(written).toEqual(
    commandTable.map((definition) => ({
      // As JSON: without what runs it.
      ...z.record(z.string(), z.unknown()).parse(JSON.parse(JSON.stringify(definition))),
      file: expect.stringMatching(/^\.\/commands\/.*\.js$/),
    })),
  );
});
