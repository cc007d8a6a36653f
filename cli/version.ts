import { readFileSync } from 'node:fs';

/** The version in package.json, which lies two folders above the compiled file and one above this one. */
export const version = readVersion();

function readVersion(): string {
  for (const up of ['../package.json', '../../package.json']) {
    try {
      const text = readFileSync(new URL(up, import.meta.url), 'utf8');
      return /"version":\s*"([^"]+)"/.exec(text)?.[1] ?? 'unknown';
    } catch {
      // Not there: the other place is tried.
    }
  }
  return 'unknown';
}
