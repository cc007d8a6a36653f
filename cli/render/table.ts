import type { Look } from './look.ts';

/** A cell, and how it is painted; the width is that of the bare text. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

/** Columns aligned with two spaces between them, headings first; the last column is as long as it likes. */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[], look: Look): string {
  const head = headings.map((text) => ({ text, paint: look.paint.bold }));
  const widths = headings.map((_, column) => Math.max(...[head, ...rows].map((row) => bare(row[column] ?? '').length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map(
          (cell, column) => painted(cell) + (column === row.length - 1 ? '' : padding(bare(cell), widths[column] ?? 0)),
        )
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

/** Facts one a line, their names aligned; a fact that is not so has no line. */
export function facts(pairs: readonly (readonly [string, Cell | undefined])[], look: Look): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length));
  return pairs
    .flatMap(([name, cell]) =>
      cell === undefined ? [] : [`${look.paint.dim(`${name}${' '.repeat(width - name.length)}`)}  ${painted(cell)}`],
    )
    .join('\n');
}

/** Each line indented. */
export function indent(text: string, by = 2): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? line : ' '.repeat(by) + line))
    .join('\n');
}

/** `1 node`, `3 nodes`. */
export function count(of: number, one: string, several = `${one}s`): string {
  return `${of} ${of === 1 ? one : several}`;
}

const bare = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text);
const painted = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.paint(cell.text));
const padding = (text: string, width: number): string => ' '.repeat(Math.max(0, width - text.length) + 2);
