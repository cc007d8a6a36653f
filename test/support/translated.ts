/**
 * What a program of the tests' own imports, as JavaScript, written once a run into its own temporary folder: some tests start
 * hundreds of processes, and each would translate it all anew.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { transformSync } from '@swc/core';

import { runFolder } from './run-folder.ts';

const root = path.dirname(path.dirname(import.meta.dirname));
const relativeImport = /(\b(?:from|import)\s*\(?\s*['"])(\.{1,2}\/[^'"]+)\.ts(['"])/g;
let folder: string | undefined;

/** The same file as JavaScript, with all that it imports beside it. */
export function translated(file: string): string {
  folder ??= madeFolder();
  return translatedInto(folder, file);
}

function translatedInto(top: string, file: string): string {
  const to = path.join(top, path.relative(root, file)).replace(/\.ts$/, '.js');
  if (existsSync(to)) return to;
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    filename: file,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
  });
  for (const [, , imported] of code.matchAll(relativeImport))
    translatedInto(top, path.resolve(path.dirname(file), `${imported}.ts`));
  mkdirSync(path.dirname(to), { recursive: true });
  // Whole or not at all, and after what it imports: another test file of the run may be looking for it.
  const work = `${to}.${process.pid}`;
  writeFileSync(work, code.replaceAll(relativeImport, '$1$2.js$3'));
  renameSync(work, to);
  return to;
}

/** Laid out as the repository is: whatever else a program looks for is where it would be. */
function madeFolder(): string {
  const top =
    runFolder === undefined ? mkdtempSync(path.join(tmpdir(), 'mesh-translated-')) : path.join(runFolder, 'translated');
  // Of a process that runs by itself, and gone with it.
  if (runFolder === undefined) process.once('exit', () => rmSync(top, { recursive: true, force: true }));
  mkdirSync(top, { recursive: true });
  for (const name of readdirSync(root)) {
    if (name.startsWith('.') || ['src', 'cli', 'test'].includes(name) || existsSync(path.join(top, name))) continue;
    try {
      symlinkSync(path.join(root, name), path.join(top, name));
    } catch (error) {
      // Another test file of the run was faster.
      if (!existsSync(path.join(top, name))) throw error;
    }
  }
  return top;
}
