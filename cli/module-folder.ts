/** Reads a module's folder: its manifest, and the files that its resources take from there. Nothing is kept or changed. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';

import { fileLimitBytes } from '../src/domain/manifest/check.ts';
import { filesNeeded, type Manifest } from '../src/domain/manifest/manifest.ts';
import { parseManifest, readTemplates } from '../src/domain/manifest/parse-manifest.ts';
import { refuseUnbuilt } from '../src/domain/manifest/unbuilt.ts';
import { isRefusal, type Refusal } from '../src/domain/refusal/refusal.ts';
import type { CatalogueModule } from '../src/domain/resolution/inventory.ts';
import { parseManifestText, type ManifestText } from './manifest-text.ts';

export const manifestNames = ['module.yaml', 'module.json'] as const;

/**
 * The module in a folder, or in the folder of a manifest that is named itself, when this mesh can do all that it asks for.
 * Refusals: those of `describedIn`, `not-built-yet`, `placeholder-unfilled`.
 */
export async function readModuleFolder(given: string): Promise<CatalogueModule | Refusal> {
  const described = await describedIn(given);
  if (isRefusal(described)) return described;
  return refuseUnbuilt(described.manifest, described.files) ?? described;
}

/**
 * What a folder describes, whether or not this mesh can do it. Refusals: `manifest-unreadable` (none, two, no YAML or JSON, a
 * file that is not there, leads out of the folder, or is larger than 256 KiB), `manifest-invalid`, `path-clash`.
 */
export async function describedIn(given: string): Promise<CatalogueModule | Refusal> {
  const file = await manifestFile(given);
  if (isRefusal(file)) return file;
  const bytes = await readOrUndefined(file);
  if (bytes === undefined) return unreadable(file, 'cannot be read', [`ls -l ${file}`]);
  const text = parseManifestText(bytes, file);
  if (isRefusal(text)) return text;
  const manifest = parseManifest(text.value, file);
  if (isRefusal(manifest)) return withLines(manifest, text, file);
  const files = await readFiles(manifest, path.dirname(file));
  if (isRefusal(files)) return files;
  const read = readTemplates(manifest, files, file);
  return isRefusal(read) ? withLines(read, text, file) : { manifest: read, files };
}

/** Whether a folder is one module's, and no catalogue of several. */
export async function isModuleFolder(given: string): Promise<boolean> {
  return path.basename(given).startsWith('module.') || (await manifestsIn(given)).length > 0;
}

/** The module folders of a catalogue: the folder itself if it has a manifest, else those of its folders that have one. */
export async function moduleFoldersIn(given: string): Promise<readonly string[]> {
  if (await isModuleFolder(given)) return [given];
  const inside = await readdir(given, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of inside.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const folder = path.join(given, entry.name);
    if (!entry.name.startsWith('.') && (await manifestsIn(folder)).length > 0) found.push(folder);
  }
  return found.length === 0 ? [given] : found;
}

async function manifestFile(given: string): Promise<string | Refusal> {
  const found = await stat(given).catch(() => undefined);
  if (found?.isFile() === true) return given;
  if (found === undefined) return unreadable(given, 'is not there', [`ls ${path.dirname(given)}`]);
  const names = await manifestsIn(given);
  const [only, second] = names;
  if (only === undefined)
    return unreadable(given, `has no ${manifestNames.join(' and no ')}`, [
      `mesh module schema  # what may stand in one`,
    ]);
  if (second !== undefined)
    return unreadable(given, `has both ${only} and ${second}; which one counts cannot be told`, [
      `rm ${path.join(given, second)}`,
    ]);
  return path.join(given, only);
}

async function manifestsIn(folder: string): Promise<readonly string[]> {
  const inside = await readdir(folder).catch((): string[] => []);
  return manifestNames.filter((name) => inside.includes(name));
}

async function readFiles(manifest: Manifest, folder: string): Promise<CatalogueModule['files'] | Refusal> {
  const root = await realpath(folder);
  const files = new Map<string, { content: string; encoding: 'utf8' | 'base64'; mode: string }>();
  const faults: string[] = [];
  for (const name of filesNeeded(manifest)) {
    const read = await readOne(root, name);
    if (typeof read === 'string') faults.push(`${path.join(folder, name)} ${read}`);
    else files.set(name, read);
  }
  if (faults.length === 0) return files;
  return {
    kind: 'manifest-unreadable',
    what: `module ${manifest.module} takes files that it cannot have:\n${faults.join('\n')}`,
    why: 'each file that a resource takes from the folder is taken in whole when the module is added',
    next: [`correct ${faults.length === 1 ? 'it' : `these ${faults.length}`}, then run the command again`],
    facts: { module: manifest.module, faults },
  };
}

async function readOne(
  root: string,
  name: string,
): Promise<{ content: string; encoding: 'utf8' | 'base64'; mode: string } | string> {
  const file = await realpath(path.join(root, name)).catch(() => undefined);
  if (file === undefined) return 'is not there';
  // A link out of the folder would take in what its author never meant to give away.
  if (!file.startsWith(root + path.sep)) return 'is a link that leads out of the folder';
  const found = await stat(file);
  if (!found.isFile()) return 'is not a file';
  if (found.size > fileLimitBytes)
    return `has ${found.size} bytes, and ${fileLimitBytes} is the most; larger ones go into an archive`;
  const bytes = await readOrUndefined(file);
  if (bytes === undefined) return 'cannot be read';
  return { ...encoded(bytes), mode: `0${(found.mode & 0o777).toString(8).padStart(3, '0')}` };
}

function encoded(bytes: Buffer): { content: string; encoding: 'utf8' | 'base64' } {
  const text = bytes.toString('utf8');
  // Only what reads back to the very same bytes may travel as text.
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { content: text, encoding: 'utf8' }
    : { content: bytes.toString('base64'), encoding: 'base64' };
}

/** The same refusal, each fault with the line it is on where that can be told. */
function withLines(refusal: Refusal, text: ManifestText, file: string): Refusal {
  const what = refusal.what
    .split('\n')
    .map((line) => {
      const number = line.startsWith(`${file}: `) ? text.lineOf(placeOf(line.slice(file.length + 2))) : undefined;
      return number === undefined ? line : `${file}:${number}:${line.slice(file.length + 1)}`;
    })
    .join('\n');
  return { ...refusal, what };
}

/** The path that a fault is about. An unknown field's fault is about what holds it, but is seen where the field is. */
function placeOf(fault: string): string {
  const [, holder, field] = /^(.+?): unknown field "([^"]+)"/.exec(fault) ?? [];
  if (holder !== undefined && field !== undefined) return holder === 'the whole file' ? field : `${holder}.${field}`;
  return /^(\S+): /.exec(fault)?.[1] ?? '';
}

async function readOrUndefined(file: string): Promise<Buffer | undefined> {
  return readFile(file).catch(() => undefined);
}

function unreadable(file: string, found: string, next: readonly string[]): Refusal {
  return {
    kind: 'manifest-unreadable',
    what: `${file} ${found}`,
    why: `a module is a folder with ${manifestNames.join(' or ')}`,
    next,
    facts: { file },
  };
}
