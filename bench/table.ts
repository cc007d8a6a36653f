/** The bench's one table. */
import type { Summary } from './measure.ts';

export type Row = {
  readonly work: string;
  readonly floor?: Summary;
  readonly product: Summary;
  readonly unit: 'ms' | 'ms CPU' | 'MB';
  /** What was promised, and whether it was kept; absent where nothing was. */
  readonly target?: { readonly says: string; readonly met: boolean };
  /** The load average when it was measured. */
  readonly load: number;
};

/** At most so many times its floor. */
export function atMost(times: number, { floor, product }: { floor: Summary; product: Summary }): Row['target'] {
  return { says: `≤ ${times}× floor`, met: product.p50 <= times * floor.p50 };
}

/** The same, as a part of a row. */
export function targeted(times: number, of: { floor: Summary; product: Summary }): Pick<Row, 'target'> {
  const target = atMost(times, of);
  return target === undefined ? {} : { target };
}

const figure = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

export const ratioOf = ({ floor, product }: Pick<Row, 'floor' | 'product'>): number | undefined =>
  floor === undefined ? undefined : product.p50 / floor.p50;

/** As Markdown, with its columns lined up. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['work', 'floor p50', 'product p50', 'p99', 'ratio', 'target', 'met', 'load'];
  const lines = rows.map(({ work, floor, product, unit, target, load }) => {
    const ratio = ratioOf({ product, ...(floor && { floor }) });
    return [
      work,
      floor === undefined ? '–' : `${figure(floor.p50)} ${unit}`,
      `${figure(product.p50)} ${unit}`,
      `${figure(product.p99)} ${unit}`,
      ratio === undefined ? '–' : `${ratio.toFixed(2)}×`,
      target?.says ?? '–',
      target === undefined ? '–' : target.met ? 'yes' : 'NO',
      load.toFixed(1),
    ];
  });
  const widths = head.map((name, at) => Math.max(name.length, ...lines.map((line) => line[at]?.length ?? 0)));
  const lined = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [lined(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...lines.map(lined)].join('\n');
}
