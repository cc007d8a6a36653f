/** How an answer may look: colours, width, and what time it is (U4, U6). */
import type { Env } from '../settings.ts';

type Painter = (text: string) => string;
export type Paint = {
  readonly bold: Painter;
  readonly dim: Painter;
  readonly red: Painter;
  readonly green: Painter;
  readonly yellow: Painter;
  readonly cyan: Painter;
};

export type Look = {
  readonly paint: Paint;
  readonly isColoured: boolean;
  /** Times are said relative to `nowMs` on a terminal, and in full elsewhere. */
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly nowMs: number;
};

export type Stream = { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined };

/**
 * Whether a stream gets colours: `--no-color` beats FORCE_COLOR, which beats NO_COLOR and TERM=dumb; without any of
 * them a terminal does and nothing else.
 */
export function isColoured(stream: Stream, env: Env, noColor: boolean): boolean {
  if (noColor) return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  return stream.isTTY === true;
}

/** How things look on one stream. */
export function lookOn(stream: Stream, env: Env, noColor: boolean, nowMs: number): Look {
  const coloured = isColoured(stream, env, noColor);
  return {
    paint: coloured ? colours : plain,
    isColoured: coloured,
    isTerminal: stream.isTTY === true,
    columns: stream.columns ?? 100,
    nowMs,
  };
}

const wrapped =
  (open: number, close: number): Painter =>
  (text) =>
    text === '' ? text : `\u001b[${open}m${text}\u001b[${close}m`;
const colours: Paint = {
  bold: wrapped(1, 22),
  dim: wrapped(2, 22),
  red: wrapped(31, 39),
  green: wrapped(32, 39),
  yellow: wrapped(33, 39),
  cyan: wrapped(36, 39),
};
const asItIs: Painter = (text) => text;
const plain: Paint = { bold: asItIs, dim: asItIs, red: asItIs, green: asItIs, yellow: asItIs, cyan: asItIs };
