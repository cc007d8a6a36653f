/**
 * A file's text with each placeholder as one mark, so that a format's own brackets, colons and quotes are never mistaken for a
 * placeholder's. What each format decides is a list of edits; what no edit covers is not filled.
 */
import { canonicalJson } from '../declaration/canonical.ts';
import { present } from '../words/invariant.ts';
import { findPlaceholders, type Placeholder } from './placeholders.ts';

/** What a placeholder stands for in its file. `raw`: goes in as it is, by wish of the placeholder. */
export type Filling =
  { readonly kind: 'typed'; readonly value: unknown } | { readonly kind: 'raw'; readonly text: string };

export type Template = {
  /** The text, each placeholder one character: `mark`, which the text itself does not hold. */
  readonly text: string;
  readonly mark: string;
  /** Where each mark stands, and what fills it. */
  readonly fillings: ReadonlyMap<number, { readonly placeholder: Placeholder; readonly filling: Filling }>;
};
/** Replaces part of a template's text. */
export type Edit = { readonly start: number; readonly end: number; readonly text: string };
/** Why the placeholder that stands at `at` cannot be filled there. Never holds a value (S5). */
export type Misfit = { readonly at: number; readonly says: string };
export type Edits = { readonly edits: readonly Edit[]; readonly misfits: readonly Misfit[] };

/** Marks the placeholders of a text; `fill` says what each stands for. */
export function templateOf(text: string, fill: (placeholder: Placeholder) => Filling): Template {
  const mark = unusedCharacter(text);
  const fillings = new Map<number, { placeholder: Placeholder; filling: Filling }>();
  let marked = '';
  let from = 0;
  for (const { at, found } of findPlaceholders(text)) {
    if (found.kind !== 'placeholder') continue;
    marked += text.slice(from, at);
    fillings.set(marked.length, { placeholder: found, filling: fill(found) });
    marked += mark;
    from = at + found.written.length;
  }
  return { text: marked + text.slice(from), mark, fillings };
}

function unusedCharacter(text: string): string {
  // Private use: whoever has all 6,400 of them in one file has no text.
  for (let code = 0xe000; code < 0xf900; code += 1)
    if (!text.includes(String.fromCharCode(code))) return String.fromCharCode(code);
  throw new Error('a text that holds every private-use character cannot be marked');
}

/** Where the marks of a stretch stand. */
export function marksIn(template: Template, start: number, end: number): readonly number[] {
  const found: number[] = [];
  for (
    let at = template.text.indexOf(template.mark, start);
    at !== -1 && at < end;
    at = template.text.indexOf(template.mark, at + 1)
  )
    found.push(at);
  return found;
}

/** What fills the mark at a place. */
export function fillingAt(template: Template, at: number): Filling {
  return present(template.fillings.get(at), 'a filling for each mark').filling;
}

/** A value as text: a text as it is, a list of texts as its lines, anything else as JSON. Undefined: null, which has no text. */
export function wordsOf(filling: Filling): string | undefined {
  if (filling.kind === 'raw') return filling.text;
  const { value } = filling;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join('\n');
  return value === null ? undefined : canonicalJson(value);
}

/** A stretch with its marks filled, as plain text without any quoting. */
export function plainText(
  template: Template,
  start: number,
  end: number,
  literal: (text: string) => string = (text) => text,
): string {
  let text = '';
  let from = start;
  for (const at of marksIn(template, start, end)) {
    text += literal(template.text.slice(from, at)) + (wordsOf(fillingAt(template, at)) ?? '');
    from = at + 1;
  }
  return text + literal(template.text.slice(from, end));
}

/** The stretch without its marks: what the file's author wrote there. */
export function literalText(template: Template, start: number, end: number): string {
  return template.text.slice(start, end).replaceAll(template.mark, '');
}

/** Whether every mark of a stretch goes in as it is. */
export function isAllRaw(template: Template, marks: readonly number[]): boolean {
  return marks.every((at) => fillingAt(template, at).kind === 'raw');
}

/** Fills the marks one by one, each text written as `write` says; raw ones as they are. */
export function inPlace(
  template: Template,
  marks: readonly number[],
  write: (text: string) => string,
): readonly Edit[] {
  return marks.map((at) => {
    const filling = fillingAt(template, at);
    const words = wordsOf(filling) ?? '';
    return { start: at, end: at + 1, text: filling.kind === 'raw' ? words : write(words) };
  });
}

/** A double-quoted stretch that begins at `start`: where its closing quote is (-1: nowhere), and which marks a backslash swallows. */
export function doubleQuoted(
  template: Template,
  start: number,
  hexDigits: Readonly<Record<string, number>> = {},
): { readonly close: number; readonly swallowed: readonly number[] } {
  const { text } = template;
  const swallowed: number[] = [];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '"') return { close: at, swallowed };
    if (text[at] !== '\\') continue;
    const last = at + 1 + (hexDigits[text[at + 1] ?? ''] ?? 0);
    swallowed.push(...marksIn(template, at + 1, last + 1));
    at = last;
  }
  return { close: -1, swallowed };
}

/** What is said of marks in the midst of a text whose value has none. */
export function textless(template: Template, marks: readonly number[]): readonly Misfit[] {
  return marks
    .filter((at) => wordsOf(fillingAt(template, at)) === undefined)
    .map((at) => ({ at, says: nullSays(present(template.fillings.get(at), 'a filling for each mark').placeholder) }));
}

/** What is said of a value that is null where text is wanted, and what to do: it is nobody's fault of the file alone. */
export function nullSays({ of, name, written }: Placeholder): string {
  const whose =
    of === 'seat'
      ? `nobody holds the seat ${name.join('.')}: assign a module that holds it`
      : of === 'config'
        ? `set another value: mesh set NODE/MODULE ${name.join('.')}=VALUE`
        : `have whoever answers ${of} answer a text`;
  return `its value is null, which has no text; ${whose}, or write ${written.replace(/\|\w+\}$/, '}')} alone and without quotes in a json or yaml file, where null may stand`;
}

/** What is said of marks that a backslash swallows. */
export function swallowedMisfits(marks: readonly number[]): readonly Misfit[] {
  return marks.map((at) => ({
    at,
    says: 'stands right behind a backslash, which would change its value; take the backslash away',
  }));
}

/** Applies edits that do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let filled = '';
  let from = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    filled += text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return filled + text.slice(from);
}
