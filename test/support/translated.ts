/**
 * The sources and the tests as JavaScript, written once a run into its own temporary folder: some tests start hundreds of
 * processes, and each would translate anew what it imports.
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
let folder = runFolder === undefined ? undefined : path.join(runFolder, 'translated');

/** The same file as JavaScript, which imports nothing that is not. Two of a run may write it at the same time: the first is for both. */
export function translated(file: string): string {
  folder ??= ownFolder();
  if (!existsSync(folder)) writeAll(folder);
  return path.join(folder, path.relative(root, file)).replace(/\.ts$/, '.js');
}

/** Of a process that runs by itself, and gone with it. */
function ownFolder(): string {
  const own = mkdtempSync(path.join(tmpdir(), 'mesh-translated-'));
  process.once('exit', () => rmSync(own, { recursive: true, force: true }));
  return path.join(own, 'translated');
}

function writeAll(to: string): void {
  const work = mkdtempSync(`${to}-`);
  for (const name of readdirSync(root)) {
    if (['src', 'cli', 'test'].includes(name)) writeFolder(name, work);
    // Whatever else a program looks for is where it is in the repository.
    else if (!name.startsWith('.')) symlinkSync(path.join(root, name), path.join(work, name));
  }
  try {
    renameSync(work, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
    rmSync(work, { recursive: true });
  }
}

function writeFolder(name: string, work: string): void {
  for (const entry of readdirSync(path.join(root, name), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const from = path.join(entry.parentPath, entry.name);
    const to = path.join(work, path.relative(root, from));
    mkdirSync(path.dirname(to), { recursive: true });
    if (entry.name.endsWith('.ts')) writeFileSync(to.replace(/\.ts$/, '.js'), inJavaScript(from));
    else symlinkSync(from, to);
  }
}

function inJavaScript(file: string): string {
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    filename: file,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
  });
  return code.replaceAll(/(\b(?:from|import)\s*\(?\s*['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2');
}
