import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { commandTable } from '../../cli/command-table.ts';
import { completionsOf, type NameKind } from '../../cli/completion/completions.ts';
import { runMesh } from './run-mesh.ts';

const run = promisify(execFile);
const names: Readonly<Record<NameKind, readonly string[]>> = {
  node: ['alpha', 'beta'],
  module: ['notes', 'postgres'],
  placed: ['beta/notes'],
  provider: ['alpha', 'beta', 'alpha/postgres'],
  provision: ['postgres-database'],
  act: ['push/all'],
  thing: ['alpha', 'beta/notes', 'notes'],
  secret: ['postgres-database', 'session'],
  credential: ['alpha/postgres-database/beta/notes'],
};
const asked: NameKind[] = [];
const complete = (...words: string[]) =>
  completionsOf(words, commandTable, async (kind) => {
    asked.push(kind);
    return names[kind];
  });

describe('[U6] what may stand there', () => {
  test('[U6] commands, then verbs, then what the command takes', async () => {
    expect(await complete('')).toEqual(expect.arrayContaining(['assign', 'module', 'node', 'status', 'up']));
    expect(await complete('')).not.toContain('complete');
    expect(await complete('sta')).toEqual(['status']);
    expect(await complete('module', '')).toEqual(expect.arrayContaining(['add', 'check', 'forget', 'list']));
    expect(await complete('assign', '')).toEqual(['alpha', 'beta']);
    expect(await complete('assign', 'alpha', '')).toEqual(['notes', 'postgres']);
    expect(await complete('assign', 'alpha', 'notes', '')).toEqual([]);
    expect(await complete('pin', 'beta', '')).toEqual(['postgres-database']);
    expect(await complete('pin', 'beta', 'postgres-database', 'alpha/')).toEqual(['alpha/postgres']);
    expect(await complete('secret', 'rotate', '')).toEqual(['beta/notes']);
    expect(await complete('secret', 'accept', 'beta/notes', '')).toEqual(['postgres-database', 'session']);
    expect(await complete('act', 'show', '')).toEqual(['push/all']);
    expect(await complete('why', 'b')).toEqual(['beta/notes']);
    expect(await complete('completion', '')).toEqual(['bash', 'fish', 'zsh']);
  });

  test('[U6] options where one is begun, their values after them, and neither counts as an argument', async () => {
    expect(await complete('plan', '--')).toEqual(
      expect.arrayContaining(['--detailed-exitcode', '--full', '--json', '--state']),
    );
    expect(await complete('plan', '--det')).toEqual(['--detailed-exitcode']);
    expect(await complete('plan', '-o', '')).toEqual(['json', 'text']);
    expect(await complete('secret', 'rotate', '--all', '--provider', '')).toEqual(['alpha', 'beta']);
    expect(await complete('secret', 'rotate', '--all', '--except', 'a')).toEqual(names.credential);
    expect(await complete('push', '--timeout', '5s', '--detach', 'alpha', '')).toEqual(['alpha', 'beta']);
    expect(await complete('--state', '/x', 'node', 'show', '')).toEqual(['alpha', 'beta']);
  });

  test('[U6] the mesh is asked only where a name of it belongs', async () => {
    asked.length = 0;
    await complete('');
    await complete('plan', '--');
    await complete('module', 'add', '');
    expect(asked).toEqual([]);
  });
});

describe('[U6] the scripts', () => {
  test.each([
    ['bash', 'bash', ['-n']],
    ['zsh', 'zsh', ['-n']],
    ['fish', 'fish', ['--no-execute']],
  ])('[U6] %s takes its own', async (shell, program, check) => {
    const { code, stdout } = await runMesh(['completion', shell]);
    expect(code).toBe(0);
    expect(stdout).toContain('complete --');
    const known = await run('sh', ['-c', `command -v ${program}`]).then(
      () => true,
      () => false,
    );
    // A shell that is not on this machine cannot be asked.
    if (known)
      await run('sh', ['-c', `printf '%s' "$1" > script && ${program} ${check.join(' ')} script`, 'sh', stdout], {
        cwd: process.env['TMPDIR'],
      });
  });

  test('[U1] another shell is a wrong command line', async () => {
    expect((await runMesh(['completion', 'tcsh'])).code).toBe(64);
  });
});
