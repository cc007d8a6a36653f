/** What a person gets for a manifest that is wrong: the fault, where it is, what to write, and exit code 3. Nothing is needed for it. */
import { describe, expect, test } from '@jest/globals';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { asJson, emptyFolder, runMesh } from './run-mesh.ts';

function moduleFolder(manifest: string, files: Readonly<Record<string, string>> = {}, name = 'module.yaml'): string {
  const folder = emptyFolder();
  writeFileSync(path.join(folder, name), manifest);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), content);
  }
  return folder;
}
const head = 'module: notes\nversion: "1"\n';
const file = (from: string) => `${head}resources:\n  - { kind: file, path: /opt/notes/server.mjs, from: ${from} }\n`;

const faults: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'M1',
    'a scope that there is not',
    `${head}provides: [{ name: shell, scope: planet }]\n`,
    [':3:', 'write one of node, mesh'],
  ],
  [
    'M1',
    'a field that is nearly known',
    `${head}requiers: [route]\n`,
    [':3:', 'unknown field "requiers"; write "requires"'],
  ],
  ['M2', 'a requirement that is no name', `${head}requires: [{ name: postgres-database }]\n`, [':3:', 'requires[0]']],
  [
    'M3',
    'a secret for what is not required',
    `${head}secrets:\n  postgres-database: /etc/x\n`,
    ['postgres-database is not required'],
  ],
  ['M4', 'provided twice', `${head}provides: [shell, shell]\n`, ['"shell" stands there twice']],
  [
    'M8',
    'a provision that hides its engine',
    `${head}requires: [database]\n`,
    [':3:', 'hides which engine it is; write postgres-database'],
  ],
  ['M8', 'the same among what it provides', `${head}provides: [sql]\n`, [':3:', '"sql" hides which engine it is']],
  ['M27', 'a module name with capitals', 'module: Notes\nversion: "1"\n', [':1:', '"Notes" is not a module name']],
  [
    'M27',
    'a provision name with a dot',
    `${head}requires: [postgres.database]\n`,
    ['"postgres.database" is not a provision name'],
  ],
  [
    'M27',
    'a local name with an underscore',
    `${head}requires: [postgres-database]\nsecrets:\n  postgres-database: { app_x: { file: /etc/x } }\n`,
    ['app_x'],
  ],
  [
    'M7',
    'two files under one local name',
    `${head}requires: [postgres-database, mysql-database]\nsecrets:\n  postgres-database: { app: { file: /etc/a } }\n  mysql-database: { app: { file: /etc/b } }\n`,
    ['the local name app is taken'],
  ],
  ['C29', 'a number in base sixty stays the text it is', `${head}listens: { http: 22:20 }\n`, [':3:', '"22:20"']],
];

describe('a manifest that is wrong', () => {
  for (const [rule, about, manifest, says] of faults) {
    test(`[${rule}] ${about}: refused with the place and what to write`, async () => {
      const folder = moduleFolder(manifest);
      const { code, stdout, stderr } = await runMesh(['module', 'check', folder]);
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
      for (const each of ['module.yaml', 'next:', ...says]) expect(stderr).toContain(each);
      expect(stderr).not.toMatch(/\n\s+at /);
    });
  }

  test('[U5] what is no YAML is refused with line and column, a duplicate key and an unknown tag among it', async () => {
    for (const [manifest, at] of [
      [`${head}requires: [route\n`, ':4:1:'],
      [`${head}module: other\n`, ':3:1:'],
      [`${head}describes: !secret x\n`, ':3:12:'],
    ] as const) {
      const { code, stderr } = await runMesh(['module', 'check', moduleFolder(manifest)]);
      expect(code).toBe(3);
      expect(stderr).toContain(`module.yaml${at}`);
    }
  });

  test('[C94] a module.json that is nearly JSON is refused, not guessed at', async () => {
    const { code, stdout } = await runMesh([
      'module',
      'check',
      moduleFolder("{ 'module': 'notes', }", {}, 'module.json'),
      '--json',
    ]);
    expect(code).toBe(3);
    expect(asJson(stdout)).toMatchObject({ kind: 'manifest-unreadable', exitCode: 3 });
  });

  test('[M1] a file that is taken from the folder is there, inside it, and small enough', async () => {
    const folder = moduleFolder(file('server.mjs'));
    expect((await runMesh(['module', 'check', folder])).stderr).toContain('server.mjs is not there');
    symlinkSync('/etc/hostname', path.join(folder, 'server.mjs'));
    expect((await runMesh(['module', 'check', folder])).stderr).toContain('leads out of the folder');
    const large = moduleFolder(file('server.mjs'), { 'server.mjs': 'x'.repeat(256 * 1024 + 1) });
    expect((await runMesh(['module', 'check', large])).stderr).toContain('has 262145 bytes');
    const good = moduleFolder(file('server.mjs'), { 'server.mjs': 'x'.repeat(256 * 1024) });
    expect((await runMesh(['module', 'check', good])).code).toBe(0);
  });

  test('[U5] no manifest and two of them are refused, and all faults of a catalogue are said at once', async () => {
    const folder = moduleFolder(head, {}, 'module.json');
    writeFileSync(path.join(folder, 'module.yaml'), head);
    expect((await runMesh(['module', 'check', folder])).stderr).toContain('has both module.yaml and module.json');
    expect((await runMesh(['module', 'check', emptyFolder()])).stderr).toContain(
      'has no module.yaml and no module.json',
    );
    const catalogue = moduleFolder(
      '',
      {
        'a/module.yaml': `${head}requires: [sql]\n`,
        'b/module.yaml': head,
        'c/module.yaml': 'module: C\nversion: "1"\n',
      },
      'README',
    );
    const { code, stderr } = await runMesh(['module', 'check'], { env: { MESH_CATALOG: catalogue } });
    expect(code).toBe(3);
    expect(stderr).toContain('2 of 3 modules cannot be added');
    expect(stderr).toContain('a/module.yaml:3:');
    expect(stderr).toContain('c/module.yaml:1:');
  });

  test('[U5] what this version cannot do is refused by name', async () => {
    const { code, stdout } = await runMesh([
      'module',
      'check',
      '--json',
      moduleFolder(`${head}keeps: { export: /var/lib/notes/export.json }\n`),
    ]);
    expect(code).toBe(3);
    expect(asJson(stdout)).toMatchObject({ schema: 'mesh.error', kind: 'not-built-yet' });
  });
});
