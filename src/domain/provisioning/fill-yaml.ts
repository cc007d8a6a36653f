import {
  doubleQuoted,
  fillingAt,
  inPlace,
  isAllRaw,
  marksIn,
  plainText,
  swallowedMisfits,
  textless,
  type Edits,
  type Misfit,
  type Template,
} from './template.ts';
import { yamlHexDigits, yamlScalars, type YamlScalar } from './yaml-scalars.ts';

/**
 * YAML (P13). Alone and without quotes a placeholder is a value of its own type, a text always in quotes, so that `yes`, `012` and
 * `a: b` stay texts; everywhere else it is text. What cannot hold any text (plain, block) becomes double-quoted.
 */
export function fillYaml(template: Template): Edits {
  const parts = yamlScalars(template).map((scalar) => fillScalar(template, scalar));
  return { edits: parts.flatMap((one) => one.edits), misfits: parts.flatMap((one) => one.misfits) };
}

function fillScalar(template: Template, scalar: YamlScalar): Edits {
  const { style, start, end } = scalar;
  const marks = marksIn(template, start, end);
  if (marks.length === 0) return { edits: [], misfits: [] };
  switch (style) {
    case 'double':
      return inDoubleQuotes(template, scalar, marks);
    case 'single':
      return inSingleQuotes(template, scalar, marks);
    case 'block':
      return inBlock(template, scalar, marks);
    case 'plain':
      return withoutQuotes(template, scalar, marks);
    case 'alias':
      return { edits: [], misfits: [] };
  }
}

function withoutQuotes(
  template: Template,
  { start, end, continues, isKey }: YamlScalar,
  marks: readonly number[],
): Edits {
  if (isAllRaw(template, marks)) return { edits: inPlace(template, marks, (words) => words), misfits: [] };
  if (continues)
    return {
      edits: [],
      misfits: marks.map((at) => ({
        at,
        says: 'stands in a text of several lines without quotes; write it in quotes',
      })),
    };
  if (end - start > 1)
    return {
      edits: [{ start, end, text: quoted(plainText(template, start, end)) }],
      misfits: textless(template, marks),
    };
  const filling = fillingAt(template, start);
  // Raw was seen to above.
  const value = filling.kind === 'raw' ? filling.text : filling.value;
  if (isKey && typeof value === 'object')
    return { edits: [], misfits: [{ at: start, says: 'its value is no text, and cannot be a key' }] };
  return { edits: [{ start, end, text: yamlValue(value) }], misfits: [] };
}

function inDoubleQuotes(template: Template, { start, end }: YamlScalar, marks: readonly number[]): Edits {
  const { swallowed } = doubleQuoted(template, start, yamlHexDigits);
  return {
    edits: inPlace(template, marks, escapedInLine),
    misfits: [
      ...swallowedMisfits(swallowed),
      ...textless(template, marks),
      ...lostInLines(template, start, end, marks),
    ],
  };
}

function inSingleQuotes(template: Template, { start, end }: YamlScalar, marks: readonly number[]): Edits {
  const misfits = textless(template, marks);
  const isOneLine = !template.text.slice(start, end).includes('\n');
  const isSimple = (at: number): boolean => {
    const words = plainText(template, at, at + 1);
    return !needsEscape.test(words) && (isOneLine || words === words.trim());
  };
  if (marks.every(isSimple))
    return {
      edits: inPlace(template, marks, (words) => words.replaceAll("'", "''")),
      misfits: [...misfits, ...lostInLines(template, start, end, marks)],
    };
  if (!isOneLine)
    return {
      edits: [],
      misfits: marks.map((at) => ({
        at,
        says: 'stands in single quotes of several lines, which do not hold its value; write double quotes',
      })),
    };
  const content = plainText(template, start + 1, end - 1, (text) => text.replaceAll("''", "'"));
  return { edits: [{ start, end, text: quoted(content) }], misfits };
}

/** A value of nothing would leave an empty line in quotes of several lines, and that is read as a line's end. */
function lostInLines(template: Template, start: number, end: number, marks: readonly number[]): readonly Misfit[] {
  if (!template.text.slice(start, end).includes('\n')) return [];
  return marks
    .filter((at) => plainText(template, at, at + 1) === '')
    .map((at) => ({ at, says: 'its value is empty, which changes how lines are joined; write the text on one line' }));
}

/** A block becomes one double-quoted text: only that holds every value, whatever blanks and line ends are in it. */
function inBlock(template: Template, { start, end, indent, header }: YamlScalar, marks: readonly number[]): Edits {
  const headerEnd = template.text.indexOf('\n', start);
  if (marks.some((at) => at < headerEnd)) return { edits: [], misfits: [] };
  const lines: { readonly text: string; readonly isFolded: boolean }[] = [];
  for (let at = headerEnd + 1; at <= end;) {
    const newline = template.text.indexOf('\n', at);
    const close = newline === -1 || newline > end ? end : newline;
    const isCarriage = template.text[close - 1] === '\r' && close > at;
    const from = Math.min(at + indent, close);
    // Whether a line is folded is up to what its author wrote, not to the blanks that a value begins with.
    const isFolded = from < close && !/[ \t]/.test(template.text[from] ?? '');
    lines.push({ text: plainText(template, from, Math.max(from, isCarriage ? close - 1 : close)), isFolded });
    at = close + 1;
  }
  const rest = /^(?:[ \t\r]*\n)*/.exec(template.text.slice(end))?.[0] ?? '';
  const ends = rest.split('\n').length - 1;
  const content = header.startsWith('>') ? folded(lines) : lines.map((line) => line.text).join('\n');
  const kept = header.includes('-') ? 0 : header.includes('+') ? ends : 1;
  return { edits: [{ start, end, text: quoted(content + '\n'.repeat(kept)) }], misfits: textless(template, marks) };
}

/** Lines of a `>` block: two that are folded are one with a blank between, or with as many line ends as lines are empty between. */
function folded(lines: readonly { readonly text: string; readonly isFolded: boolean }[]): string {
  let text = '';
  let empty = 0;
  let before: boolean | undefined;
  for (const line of lines) {
    if (line.text === '' && !line.isFolded) {
      empty += 1;
      continue;
    }
    const joins = before === true && line.isFolded;
    if (before === undefined) text += '\n'.repeat(empty);
    else if (joins) text += empty === 0 ? ' ' : '\n'.repeat(empty);
    else text += '\n'.repeat(empty + 1);
    text += line.text;
    before = line.isFolded;
    empty = 0;
  }
  return text;
}

/** JSON, which YAML reads, with what YAML does not take as it stands spelled out. */
function yamlValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${Array.from(value, yamlValue).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${quoted(name)}: ${yamlValue(member)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}

// Controls, the separators of lines, and what no YAML text may hold. What JSON would leave as it is, too.
// oxlint-disable-next-line no-control-regex -- these are exactly what is looked for
const needsEscape = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
const everyEscape = new RegExp(`["\\\\]|${needsEscape.source}`, 'g');
const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\t': '\\t',
  '\r': '\\r',
};

function escaped(text: string): string {
  return text.replaceAll(
    everyEscape,
    (character) => shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** In quotes that go over several lines, blanks at a line's end are lost: those of a value are spelled out. */
function escapedInLine(text: string): string {
  return escaped(text).replaceAll(/^ | $/g, '\\x20');
}

const quoted = (text: string): string => `"${escaped(text)}"`;
