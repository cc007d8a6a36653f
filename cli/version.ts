import { readFileSync } from 'node:fs';

const packageText = readPackage();

/** The version in package.json. */
export const version = /"version":\s*"([^"]+)"/.exec(packageText)?.[1] ?? 'unknown';
/** Which Node.js it asks for, as it is written there. */
export const nodeAsked = /"engines":\s*\{[^}]*"node":\s*"([^"]+)"/.exec(packageText)?.[1] ?? 'unknown';

/** It lies two folders above the compiled file and one above this one. */
function readPackage(): string {
  for (const up of ['../package.json', '../../package.json']) {
    try {
      return readFileSync(new URL(up, import.meta.url), 'utf8');
    } catch {
      // Not there: the other place is tried.
    }
  }
  return '';
}
