import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { table } from './table.ts';

/** `mesh config show`. */
export function drawConfig(
  of: {
    readonly raised: boolean;
    readonly settings: readonly { readonly name: string; readonly value: string; readonly from: string }[];
  },
  look: Look,
): string {
  const rows = of.settings.map(({ name, value, from }) => [name, value, { text: from, paint: look.paint.dim }]);
  const none = of.raised ? [] : ['', 'No mesh was raised in that state folder.', ...nextLines(['mesh up'], look)];
  return [table(['setting', 'value', 'from'], rows, look), ...none].join('\n');
}
