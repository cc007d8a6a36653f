import {
  doubleQuoted,
  inPlace,
  isAllRaw,
  literalText,
  marksIn,
  plainText,
  swallowedMisfits,
  textless,
  type Edits,
  type Misfit,
  type Template,
} from './template.ts';

const assignment = /[ \t]*(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_]*=/y;
// oxlint-disable-next-line no-control-regex -- a control character in a value is exactly what is looked for
const unreadable = /[\u0000-\u0008\u000b-\u001f\u007f]/;

/**
 * `NAME=value` lines as `sh` sources them and systemd's EnvironmentFile reads them (P13). A value with a placeholder is one word:
 * without quotes where it needs none, in single quotes where it can be, else in double quotes with `"`, `\`, `$` and `` ` `` escaped.
 */
export function fillEnv(template: Template): Edits {
  const { text } = template;
  const parts: Edits[] = [];
  for (let at = 0; at < text.length;) {
    assignment.lastIndex = at;
    const isAssignment = assignment.test(text);
    const start = isAssignment ? assignment.lastIndex : at;
    const value = isAssignment ? wordsEnd(template, start) : { end: lineEnd(text, at), quotes: 0 };
    if (isAssignment && marksIn(template, start, value.end).length > 0) parts.push(fillValue(template, start, value));
    at = value.end + 1;
  }
  return { edits: parts.flatMap((one) => one.edits), misfits: parts.flatMap((one) => one.misfits) };
}

const lineEnd = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
};

type Extent = { readonly end: number; readonly quotes: number };

/** Where a value ends: at the end of its line, or of a later one if quotes are still open there. */
function wordsEnd(template: Template, start: number): Extent {
  const { text } = template;
  let quotes = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\n') return { end: at, quotes };
    if (character === '\\') at += 1;
    if (character !== '"' && character !== "'") continue;
    const close = character === '"' ? doubleQuoted(template, at).close : text.indexOf("'", at + 1);
    // Never closed: the shell would refuse it, systemd takes the line.
    if (close === -1) return { end: lineEnd(text, at), quotes: quotes + 1 };
    quotes += 1;
    at = close;
  }
  return { end: text.length, quotes };
}

function fillValue(template: Template, start: number, { end: last, quotes }: Extent): Edits {
  const { text } = template;
  const written = text.slice(start, last);
  const end = start + written.trimEnd().length;
  const first = end - written.trim().length;
  const marks = marksIn(template, start, end);
  const inside = { start: first + 1, end: end - 1 };
  const quote = quotes === 1 && end - first > 1 && text[first] === text[end - 1] ? text[first] : undefined;
  if (isAllRaw(template, marks)) return { edits: inPlace(template, marks, (words) => words), misfits: [] };
  const faults = [...textless(template, marks), ...unreadableMisfits(template, marks)];
  if (quote === "'") return rewritten(template, inside, { start, end }, faults);
  if (quote === '"') {
    // The shell's own `$NAME` in these quotes stays the shell's.
    if (!/[\\$`]/.test(literalText(template, inside.start, inside.end)))
      return rewritten(template, inside, { start, end }, faults);
    const { swallowed } = doubleQuoted(template, first);
    return { edits: inPlace(template, marks, escaped), misfits: [...faults, ...swallowedMisfits(swallowed)] };
  }
  if (quotes > 0 || /[\\$`]|(?:^|\s)#/.test(literalText(template, start, end)))
    return {
      edits: [],
      misfits: marks.map((at) => ({
        at,
        says: 'stands in a value of several parts; write the whole value in double quotes',
      })),
    };
  return rewritten(template, { start: first, end }, { start, end }, faults);
}

type Stretch = { readonly start: number; readonly end: number };

function rewritten(template: Template, content: Stretch, replaced: Stretch, misfits: readonly Misfit[]): Edits {
  return { edits: [{ ...replaced, text: envWord(plainText(template, content.start, content.end)) }], misfits };
}

function unreadableMisfits(template: Template, marks: readonly number[]): readonly Misfit[] {
  return marks
    .filter((at) => unreadable.test(plainText(template, at, at + 1)))
    .map((at) => ({ at, says: 'its value holds a control character, which readers of such files do not agree about' }));
}

function envWord(text: string): string {
  if (/^[A-Za-z0-9_.,:/@%+-]+$/.test(text)) return text;
  return text.includes("'") ? `"${escaped(text)}"` : `'${text}'`;
}

function escaped(text: string): string {
  return text.replaceAll(/["\\$`]/g, (character) => `\\${character}`);
}
