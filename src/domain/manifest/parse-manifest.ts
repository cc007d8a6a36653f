import type { Refusal } from '../refusal/refusal.ts';
import { check, declaredPaths, pathClashes } from './check.ts';
import { faultsOf, type Fault } from './faults.ts';
import type { Manifest } from './manifest.ts';
import { normalise } from './normalise.ts';
import { templateFaults, withFilled } from './templates.ts';
import { writtenManifest } from './written.ts';

/**
 * Reads what a person wrote (an already parsed YAML or JSON value) into a manifest. Refused as `manifest-invalid` with
 * every fault in `what`: file, path inside it, what was found, what to write instead; and as `path-clash` when the only
 * fault is that two of its things have one path. `file` is only named in the answer.
 */
export function parseManifest(value: unknown, file: string): Manifest | Refusal {
  const read = writtenManifest.safeParse(value);
  if (!read.success) return invalid(file, faultsOf(read.error.issues, value));
  const manifest = normalise(read.data);
  const faults = check(manifest);
  const clashes = pathClashes(declaredPaths(manifest));
  if (faults.length > 0) return invalid(file, [...faults, ...clashes.map((says) => ({ path: 'resources', says }))]);
  if (clashes.length === 0) return manifest;
  return {
    kind: 'path-clash',
    what: clashes.map((clash) => `${file}: ${clash}`).join('\n'),
    why: 'one path of a node holds one thing, or the last one written would win',
    next: ['give each its own path, then run the command again'],
    facts: { file, faults: clashes },
  };
}

/**
 * The manifest with what its files say: the credentials that their placeholders ask for. Refused as `manifest-invalid` for
 * placeholders that are malformed, name what the module has not, or put a credential where others can read it.
 */
export function readTemplates(
  manifest: Manifest,
  files: Parameters<typeof withFilled>[1],
  file: string,
): Manifest | Refusal {
  const faults = templateFaults(manifest, files);
  return faults.length > 0 ? invalid(file, faults) : withFilled(manifest, files);
}

function invalid(file: string, faults: readonly Fault[]): Refusal {
  const lines = faults.map(({ path, says }) => `${file}: ${path}: ${says}`);
  return {
    kind: 'manifest-invalid',
    what: lines.join('\n'),
    why: 'a manifest is taken as a whole or not at all, so nothing of it was taken',
    next: [
      `correct ${lines.length === 1 ? 'this' : `these ${lines.length}`} in ${file}`,
      'mesh module schema prints what may be written',
    ],
    facts: { file, faults: lines },
  };
}
