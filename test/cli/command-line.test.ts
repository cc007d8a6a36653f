import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';

import { asJson, runMesh, runMeshOnTerminal } from './run-mesh.ts';

const meshError = z.strictObject({
  schema: z.literal('mesh.error'),
  version: z.literal(1),
  kind: z.string(),
  what: z.string().min(1),
  why: z.string().min(1),
  next: z.array(z.string()),
  exitCode: z.int(),
  facts: z.record(z.string(), z.unknown()).optional(),
});
const escape = '\u001b[';

describe('the command line', () => {
  test('[U7] help works with nothing configured, for all, for a noun and for a verb', async () => {
    for (const args of [['--help'], [], ['module', '--help'], ['module', 'check', '-h'], ['help', 'module', 'check']]) {
      const { code, stdout, stderr } = await runMesh(args);
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
      expect(stdout).toContain('usage: mesh');
    }
  });

  test('[U1] a wrong command line ends with 64, says what was found and the nearest thing there is', async () => {
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['modul', 'check'], 'did you mean mesh module?'],
      [['module', 'chekc'], 'did you mean mesh module check?'],
      [['module', 'check', '--outptu', 'json'], 'did you mean --output?'],
      [['module'], 'mesh module needs to be told what to do'],
      [['module', 'schema', 'extra'], 'more than it takes'],
      [['module', 'check', '-o', 'xml'], 'Allowed choices are text, json'],
    ];
    for (const [args, says] of cases) {
      const { code, stdout, stderr } = await runMesh(args);
      expect({ args, code, stdout }).toEqual({ args, code: 64, stdout: '' });
      expect(stderr).toContain(says);
      expect(stderr).toContain('next:');
      expect(stderr).not.toMatch(/\n\s+at /);
    }
  });

  test('[U5] an error has a JSON form, wherever in the line JSON was asked for', async () => {
    for (const args of [
      ['--json', 'modul'],
      ['modul', '-o', 'json'],
      ['modul', '-ojson'],
      ['module', 'check', '--outptu', '--output=json'],
    ]) {
      const { code, stdout, stderr } = await runMesh(args);
      expect(stderr).toBe('');
      expect(meshError.parse(asJson(stdout))).toMatchObject({ kind: 'usage', exitCode: 64 });
      expect(code).toBe(64);
    }
  });

  test('[U4] colour only on a terminal, and as the environment and --no-color say', async () => {
    const wrong = ['modul'];
    const piped = async (env: Record<string, string>, ...more: string[]) =>
      (await runMesh([...wrong, ...more], { env })).stderr.includes(escape);
    const shown = async (env: Record<string, string>, ...more: string[]) =>
      (await runMeshOnTerminal([...wrong, ...more], { env })).stdout.includes(escape);
    expect(await piped({})).toBe(false);
    expect(await piped({ FORCE_COLOR: '1' })).toBe(true);
    expect(await piped({ FORCE_COLOR: '1' }, '--no-color')).toBe(false);
    expect(await shown({})).toBe(true);
    expect(await shown({ NO_COLOR: '1' })).toBe(false);
    expect(await shown({ TERM: 'dumb' })).toBe(false);
    expect(await shown({ FORCE_COLOR: '0' })).toBe(false);
    expect(await shown({}, '--no-color')).toBe(false);
  });

  test('[U4] the words are the same without colours', async () => {
    const colour = new RegExp(`${escape.replace('[', '\\[')}[0-9;]*m`, 'g');
    const coloured = await runMesh(['modul'], { env: { FORCE_COLOR: '1' } });
    const plain = await runMesh(['modul']);
    expect(coloured.stderr.replaceAll(colour, '')).toBe(plain.stderr);
  });
});
