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

// oxlint-disable-next-line no-control-regex -- a control character in a value is exactly what is looked for
const unholdable = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/**
 * INI (P13): `key = value` lines. A value with a placeholder stands without quotes where nothing in it could be taken for
 * something else, and in double quotes with `\"`, `\\` and `\t` otherwise. A value of several lines is refused: no such file holds it.
 */
export function fillIni(template: Template): Edits {
  const { text } = template;
  const parts: Edits[] = [];
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    if (marksIn(template, at, end).length > 0) parts.push(fillLine(template, at, end));
    at = end + 1;
  }
  return { edits: parts.flatMap((one) => one.edits), misfits: parts.flatMap((one) => one.misfits) };
}

const nothing: Edits = { edits: [], misfits: [] };

function fillLine(template: Template, at: number, lineEnd: number): Edits {
  const line = template.text.slice(at, lineEnd);
  const key = /^\s*[^\s=:;#[][^=:]*[=:][ \t]*/.exec(line)?.[0];
  // A comment, a heading, or a key by itself.
  if (key === undefined || key.includes(template.mark)) return nothing;
  const start = at + key.length;
  const end = at + line.trimEnd().length;
  const marks = marksIn(template, start, end);
  if (isAllRaw(template, marks)) return { edits: inPlace(template, marks, (words) => words), misfits: [] };
  const misfits = [...textless(template, marks), ...unholdableMisfits(template, marks)];
  const literal = literalText(template, start, end);
  if (template.text[start] === '"' && doubleQuoted(template, start).close === end - 1)
    return {
      edits: inPlace(template, marks, escaped),
      misfits: [...misfits, ...swallowedMisfits(doubleQuoted(template, start).swallowed)],
    };
  if (/["\\;#]|^'/.test(literal))
    return {
      edits: [],
      misfits: marks.map((one) => ({
        at: one,
        says: 'stands beside quotes, a comment or a backslash; write the whole value in double quotes',
      })),
    };
  return { edits: [{ start, end, text: iniValue(plainText(template, start, end)) }], misfits };
}

function unholdableMisfits(template: Template, marks: readonly number[]): readonly Misfit[] {
  return marks
    .filter((at) => unholdable.test(plainText(template, at, at + 1)))
    .map((at) => ({ at, says: 'its value has several lines or a control character, which an ini file does not hold' }));
}

function iniValue(text: string): string {
  const isPlain = text === text.trim() && !/["'\\;#\t]| {2}/.test(text);
  return isPlain ? text : `"${escaped(text)}"`;
}

function escaped(text: string): string {
  return text.replaceAll(/["\\]/g, (character) => `\\${character}`).replaceAll('\t', '\\t');
}
