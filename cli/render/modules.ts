import type { Look } from './look.ts';
import { count, table } from './table.ts';

export type CheckedBody = {
  readonly modules: readonly { readonly module: string; readonly version: string; readonly folder: string }[];
};

/** `mesh module check` when nothing is wrong. */
export function drawChecked({ modules }: CheckedBody, look: Look): string {
  const rows = modules.map(({ module, version, folder }) => [module, version, folder]);
  return `${table(['module', 'version', 'folder'], rows, look)}\n\n${look.paint.green('good')}: ${count(modules.length, 'module')} can be added`;
}
