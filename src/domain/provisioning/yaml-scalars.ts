/**
 * Where the scalars of a YAML text are: as much of YAML's grammar as filling one in needs. A placeholder is one character here
 * (`template.ts`), so none of its own characters count.
 */
import { doubleQuoted, type Template } from './template.ts';

/** `end` is behind the last character; of a block, behind its last line that is not blank. */
export type YamlScalar = {
  readonly style: 'plain' | 'single' | 'double' | 'block' | 'alias';
  readonly start: number;
  readonly end: number;
  /** Text stands right before or after it with nothing between but a line's end: one scalar of several lines. */
  readonly continues: boolean;
  readonly isKey: boolean;
  /** Of a block: how far its text is indented, and its header. */
  readonly indent: number;
  readonly header: string;
};

type Token = { kind: 'scalar'; scalar: YamlScalar } | { kind: 'indicator'; text: string; start: number };

/** Escapes of a double-quoted scalar that are followed by hexadecimal digits. */
export const yamlHexDigits = { x: 2, u: 4, U: 8 } as const;

/** The scalars of a YAML text, in their order. */
export function yamlScalars(template: Template): readonly YamlScalar[] {
  const tokens = tokensOf(template);
  return tokens.flatMap((token, index) => {
    if (token.kind !== 'scalar') return [];
    const [before, after, afterThat] = [tokens[index - 1], tokens[index + 1], tokens[index + 2]];
    const isKey = isColon(after);
    // The next key stands right behind the last value, too: that one is no continuation.
    const continues = (!isKey && before?.kind === 'scalar') || (after?.kind === 'scalar' && !isColon(afterThat));
    return [{ ...token.scalar, isKey, continues }];
  });
}

const isColon = (token: Token | undefined): boolean => token?.kind === 'indicator' && token.text === ':';

function tokensOf(template: Template): readonly Token[] {
  const { text } = template;
  const tokens: Token[] = [];
  let flow = 0;
  // The column that a block scalar's text must be indented beyond: that of its key, or of its dash.
  let parent = -1;
  let at = 0;
  const indicator = (length: number): void => {
    tokens.push({ kind: 'indicator', text: text.slice(at, at + length), start: at });
    at += length;
  };
  const scalar = (style: YamlScalar['style'], end: number, block = { indent: 0, header: '' }): void => {
    tokens.push({ kind: 'scalar', scalar: { style, start: at, end, continues: false, isKey: false, ...block } });
    at = end;
  };
  while (at < text.length) {
    const character = text[at] ?? '';
    const isLineStart = at === 0 || text[at - 1] === '\n';
    if (/\s/.test(character)) at += 1;
    else if (isLineStart && flow === 0 && /^(?:---|\.\.\.)(?=\s|$)/.test(text.slice(at, at + 4))) {
      parent = -1;
      indicator(3);
    } else if (
      (isLineStart && character === '%') ||
      (character === '#' && (isLineStart || /\s/.test(text[at - 1] ?? '')))
    )
      at = lineEnd(text, at);
    else if ('[{'.includes(character)) {
      flow += 1;
      indicator(1);
    } else if (']}'.includes(character)) {
      flow = Math.max(0, flow - 1);
      indicator(1);
    } else if (flow > 0 && character === ',') indicator(1);
    else if (isIndicator(text, at, flow, tokens.at(-1))) {
      if (flow === 0) parent = character === ':' ? keyColumn(text, at, tokens) : columnOf(text, at);
      indicator(1);
    } else if (character === '"') {
      const { close } = doubleQuoted(template, at, yamlHexDigits);
      scalar('double', close === -1 ? text.length : close + 1);
    } else if (character === "'") scalar('single', singleEnd(text, at));
    else if (flow === 0 && (character === '|' || character === '>')) {
      const block = blockAt(text, at, parent);
      scalar('block', block.end, block);
    } else if ('&!'.includes(character)) at = propertyEnd(text, at, flow);
    else if (character === '*') scalar('alias', propertyEnd(text, at, flow));
    else scalar('plain', plainEnd(text, at, flow));
  }
  return tokens;
}

const lineEnd = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
};
const columnOf = (text: string, at: number): number => at - (text.lastIndexOf('\n', at - 1) + 1);

/** The column of the key that this colon is of. */
function keyColumn(text: string, colon: number, tokens: readonly Token[]): number {
  const key = tokens.at(-1);
  const from = text.lastIndexOf('\n', colon - 1) + 1;
  if (key?.kind === 'scalar' && key.scalar.start >= from) {
    // An anchor or a tag before the key is part of it.
    const before = /(?:[&!]\S*[ \t]+)*$/.exec(text.slice(from, key.scalar.start))?.[0].length ?? 0;
    return columnOf(text, key.scalar.start - before);
  }
  return text.slice(from).length - text.slice(from).trimStart().length;
}

function isIndicator(text: string, at: number, flow: number, before: Token | undefined): boolean {
  const character = text[at] ?? '';
  const next = text[at + 1];
  const isBlankNext = next === undefined || /\s/.test(next);
  if (character === '-' || character === '?') return isBlankNext;
  if (character !== ':') return false;
  if (isBlankNext) return true;
  const isBehindJson =
    before?.kind === 'scalar'
      ? before.scalar.end === at && (before.scalar.style === 'double' || before.scalar.style === 'single')
      : before !== undefined && before.start + 1 === at && ']}'.includes(before.text);
  return flow > 0 && (',[]{}'.includes(next) || isBehindJson);
}

function singleEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] !== "'") continue;
    if (text[at + 1] !== "'") return at + 1;
    at += 1;
  }
  return text.length;
}

function propertyEnd(text: string, start: number, flow: number): number {
  const stop = flow > 0 ? /[\s,[\]{}]/ : /\s/;
  let at = start;
  while (at < text.length && !stop.test(text[at] ?? '')) at += 1;
  return at;
}

function plainEnd(text: string, start: number, flow: number): number {
  let end = start;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '\n') break;
    if (/\s/.test(character)) {
      if (text[at + 1] === '#') break;
      continue;
    }
    if (flow > 0 && ',[]{}'.includes(character)) break;
    const next = text[at + 1];
    if (character === ':' && (next === undefined || /\s/.test(next) || (flow > 0 && ',[]{}'.includes(next)))) break;
    end = at + 1;
  }
  // What begins with a character that is nothing by itself still has to be passed.
  return Math.max(end, start + 1);
}

/** A block scalar: its header, how far its text is indented, and where its last line that is not blank ends. */
function blockAt(
  text: string,
  start: number,
  parent: number,
): { readonly indent: number; readonly header: string; readonly end: number } {
  const headerEnd = lineEnd(text, start);
  const header = /^[|>][+-]?[1-9]?[+-]?/.exec(text.slice(start, headerEnd))?.[0] ?? '|';
  const digit = /[1-9]/.exec(header)?.[0];
  let indent = digit === undefined ? undefined : Math.max(parent, 0) + Number(digit);
  let end = headerEnd;
  for (let at = headerEnd + 1; at < text.length;) {
    const close = lineEnd(text, at);
    const line = text.slice(at, close);
    if (line.trim() !== '') {
      const indented = line.length - line.replace(/^ +/, '').length;
      indent ??= Math.max(indented, parent + 1);
      if (indented < indent || /^(?:---|\.\.\.)(?:\s|$)/.test(line)) break;
      end = close;
    }
    at = close + 1;
  }
  return { indent: indent ?? parent + 1, header, end: text[end - 1] === '\r' ? end - 1 : end };
}
