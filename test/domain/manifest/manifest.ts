import { parseManifest } from '../../../src/domain/manifest/parse-manifest.ts';
import type { Manifest } from '../../../src/domain/manifest/manifest.ts';
import { isRefusal, type Refusal } from '../../../src/domain/refusal/refusal.ts';

/** The manifest of a value that must be one. */
export function manifestOf(value: unknown): Manifest {
  const parsed = parseManifest(value, 'module.yaml');
  if (isRefusal(parsed)) throw new Error(parsed.what);
  return parsed;
}

/** What is said of a value that must be refused. */
export function refusalOf(value: unknown): Refusal {
  const parsed = parseManifest(value, 'module.yaml');
  if (!isRefusal(parsed)) throw new Error('it was taken');
  return parsed;
}
