/** C94, for every command there is: what it answers in JSON is one value with nothing before or after, whatever went wrong. */
import { expect, test } from '@jest/globals';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

import { commandTable } from '../../cli/command-table.ts';
import { asJson, emptyFolder, runMesh } from './run-mesh.ts';

const failure = z.strictObject({
  schema: z.literal('mesh.error'),
  version: z.literal(1),
  kind: z.string(),
  what: z.string().min(1),
  why: z.string().min(1),
  next: z.array(z.string()),
  exitCode: z.int(),
  facts: z.record(z.string(), z.unknown()).optional(),
});
const all = commandTable.map(({ name }) => name);
/** Those raise something, and say how it went on their own. */
const raising = new Set(['up', 'demo']);

/** A few at a time: each is a process, and the machine is small. */
async function each<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += 4) await Promise.all(items.slice(from, from + 4).map(run));
}

const argumentsOf = (name: string): readonly string[] =>
  (commandTable.find((one) => one.name === name)?.arguments ?? []).map(({ name: what }) =>
    what.includes('=') ? 'title=x' : what.includes('/') ? 'alpha/notes' : what === 'SHELL' ? 'bash' : 'alpha',
  );

test('[C94] a misspelt option is said as JSON by every command, with the code of a wrong command line', async () => {
  await each(all, async (name) => {
    const { code, stdout, stderr } = await runMesh([...name.split(' '), '--json', '--jsno']);
    const said = failure.parse(asJson(stdout));
    expect({ name, code, stderr, kind: said.kind, exitCode: said.exitCode }).toEqual({
      name,
      code: 64,
      stderr: '',
      kind: 'usage',
      exitCode: 64,
    });
  });
});

test('[C94] [U7] help is JSON where JSON was asked for, of all, of a noun and of every command', async () => {
  await each(['', 'node', ...all], async (name) => {
    const { code, stdout, stderr } = await runMesh([
      ...name.split(' ').filter((one) => one !== ''),
      '--help',
      '--json',
    ]);
    expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
    expect(asJson(stdout)).toMatchObject({
      schema: 'mesh.text',
      version: 1,
      text: expect.stringContaining('usage: mesh'),
    });
  });
  expect(asJson((await runMesh(['--version', '--json'])).stdout)).toMatchObject({ schema: 'mesh.text' });
  expect(asJson((await runMesh(['--json'])).stdout)).toMatchObject({ schema: 'mesh.text' });
});

test('[C94] with no mesh every command answers one object, and its code is the process’s', async () => {
  await each(
    all.filter((name) => !raising.has(name)),
    async (name) => {
      const { code, stdout, stderr } = await runMesh([...name.split(' '), ...argumentsOf(name), '--json']);
      const said = asJson(stdout);
      expect({ name, stack: /\n\s+at /.test(stderr), escape: stdout.includes('\u001b') }).toEqual({
        name,
        stack: false,
        escape: false,
      });
      // What is wrong with a machine is an answer like any other.
      const isAnswer = code === 0 || said['schema'] === 'mesh.doctor';
      if (isAnswer) expect(said['schema'] ?? said['$schema']).toEqual(expect.any(String));
      else expect({ name, exitCode: failure.parse(said).exitCode }).toEqual({ name, exitCode: code });
    },
  );
});

test('[C94] a state folder that is not as mesh wrote it is a fault in words, as JSON', async () => {
  for (const text of ['', '{', 'null', '{"version":99}']) {
    const state = emptyFolder();
    writeFileSync(path.join(state, 'foundation.json'), text);
    const { code, stdout, stderr } = await runMesh(['status', '--json', '--state', state]);
    const { kind, what } = failure.parse(asJson(stdout));
    expect({ text, code, kind, stderr }).toEqual({ text, code: 1, kind: 'fault', stderr: '' });
    expect(what).toContain('foundation.json is not as mesh wrote it');
  }
});

test('[C94] what a person wrote is quoted in JSON’s own way, however odd it is', async () => {
  for (const odd of ['a"b', 'a\nb', '🎉', '\u001b[31m', '--', '{}', '\u2028']) {
    const { code, stdout } = await runMesh(['node', 'show', odd, '--json']);
    if (odd === '--') continue;
    expect(failure.parse(asJson(stdout))).toMatchObject({ kind: 'invalid-name', exitCode: code });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(stdout).not.toContain('\u001b');
  }
});

test('[C94] [M9] a catalogue that is good and one that is not are each one object', async () => {
  const folder = emptyFolder();
  const put = (name: string, text: string): void => {
    mkdirSync(path.join(folder, name), { recursive: true });
    writeFileSync(path.join(folder, name, 'module.yaml'), text);
  };
  put('a', 'module: a\nversion: "1"\nprovides: [x]\nrequires: [y]\n');
  put('b', 'module: b\nversion: "1"\nprovides: [y]\n');
  const good = await runMesh(['module', 'check', folder, '--json']);
  expect(good.code).toBe(0);
  expect(asJson(good.stdout)).toMatchObject({ schema: 'mesh.module-check', whole: true, modules: { length: 2 } });
  put('b', 'module: b\nversion: "1"\nprovides: [y]\nrequires: [x, "no-such-thing"]\n');
  put('c', 'module: c\nversion: "1"\nresources: [{ kind: container, name: c, image: i }]\nprovides: [z]\n');
  put('d', 'module: d\nversion: "1"\nresources: [{ kind: container, name: d, image: i }]\nprovides: [z]\n');
  put('e', 'module: E\n');
  const bad = await runMesh(['module', 'check', folder, '--json']);
  expect(bad.code).toBe(3);
  const { what, facts } = failure.parse(asJson(bad.stdout));
  expect(facts?.['kinds']).toEqual(
    expect.arrayContaining(['manifest-invalid', 'not-built-yet', 'described-twice', 'no-provider', 'provider-cycle']),
  );
  for (const said of ['b requires no-such-thing', 'c and d both run', 'a requires y of b, and b requires x of a'])
    expect(what).toContain(said);
  // By $MESH_CATALOG it is the same; one module alone is judged by itself, and with the catalogue as a part of it.
  expect((await runMesh(['module', 'check', '--json'], { env: { MESH_CATALOG: folder } })).code).toBe(3);
  const alone = await runMesh(['module', 'check', path.join(folder, 'a'), '--json']);
  expect(asJson(alone.stdout)).toMatchObject({ schema: 'mesh.module-check', whole: false });
  expect((await runMesh(['module', 'check', path.join(folder, 'a')], { env: { MESH_CATALOG: folder } })).code).toBe(3);
  expect(readFileSync(path.join(folder, 'a/module.yaml'), 'utf8')).toContain('module: a');
});

test('[U4] [U6] config show says where each setting came from, in both forms, and holds no secret', async () => {
  const shown = async (args: readonly string[], env: Readonly<Record<string, string>>) =>
    z
      .looseObject({ settings: z.array(z.strictObject({ name: z.string(), value: z.string(), from: z.string() })) })
      .parse(asJson((await runMesh(['config', 'show', '--json', ...args], { env })).stdout)).settings;
  const find = (list: Awaited<ReturnType<typeof shown>>, name: string) => list.find((one) => one.name === name);
  expect(find(await shown(['--state', '/a'], { MESH_STATE: '/b' }), 'state folder')).toMatchObject({
    value: '/a',
    from: '--state',
  });
  expect(find(await shown([], { MESH_STATE: '/b', XDG_STATE_HOME: '/c' }), 'state folder')).toMatchObject({
    value: '/b',
    from: 'MESH_STATE',
  });
  expect(find(await shown([], { XDG_STATE_HOME: '/c' }), 'state folder')).toMatchObject({
    value: '/c/mesh',
    from: 'XDG_STATE_HOME',
  });
  expect(find(await shown([], { XDG_STATE_HOME: 'c' }), 'state folder')).toMatchObject({
    from: "the user's state folder",
  });
  expect(find(await shown([], { MESH_PERSON: 'ada' }), 'person')).toMatchObject({ value: 'ada', from: 'MESH_PERSON' });
  for (const [env, value, from] of [
    [{}, 'off', 'whether this is a terminal'],
    [{ NO_COLOR: '1' }, 'off', 'NO_COLOR'],
    [{ TERM: 'dumb' }, 'off', 'TERM'],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, 'on', 'FORCE_COLOR'],
  ] as const)
    expect(find(await shown([], env), 'colours')).toMatchObject({ value, from });
  expect((await runMesh(['config', 'show'])).stdout).toContain('No mesh was raised');
});
