import type { Refusal } from '../refusal/refusal.ts';
import type { Manifest } from './manifest.ts';

/**
 * Reads what a person wrote (an already parsed YAML or JSON value) into a manifest, or refuses it as
 * `manifest-invalid` with every fault in `what`: file, path inside it, what was found, what to write instead.
 */
export function parseManifest(_value: unknown, _file: string): Manifest | Refusal {
  throw new Error('not written yet');
}
