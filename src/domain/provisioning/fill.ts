/**
 * Filling a file in: whole or not at all (P12), each value with the quoting of the file's format (P13). What was filled in is
 * not looked at again, so a value that looks like a placeholder stays what it is.
 *
 * | format | a placeholder alone, without quotes | in quotes, or part of a text |
 * | --- | --- | --- |
 * | json | the JSON value, of its own type | text, escaped |
 * | yaml | the value, of its own type; a text always in quotes | text, escaped; a block or plain text becomes a quoted one |
 * | env | one word for `sh` and systemd, in quotes where needed; `#` lines hold none | the same |
 * | ini | text, in double quotes where needed (`\"`, `\\`, `\t`); one line | the same |
 * | raw | text as it is | text as it is |
 *
 * As text a list of texts is its lines, and anything else that is no text is JSON.
 */
import type { FileFormat } from '../declaration/declaration.ts';
import { assertNever } from '../words/invariant.ts';
import { fillEnv } from './fill-env.ts';
import { fillIni } from './fill-ini.ts';
import { fillJson, isJson } from './fill-json.ts';
import { fillYaml } from './fill-yaml.ts';
import { findPlaceholders, type Placeholder } from './placeholders.ts';
import {
  applyEdits,
  inPlace,
  nullSays,
  templateOf,
  textless,
  wordsOf,
  type Edits,
  type Filling,
  type Template,
} from './template.ts';

/** What a placeholder stands for: any JSON value, or why there is none (P12). */
export type Value =
  { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'missing'; readonly reason: string };
/** Why a file is not filled; names the file and the placeholder, never a value (S5). */
export type FillFault = { readonly file: string; readonly placeholder: string; readonly says: string };
export type Filled =
  | { readonly kind: 'filled'; readonly text: string }
  | { readonly kind: 'unfilled'; readonly faults: readonly FillFault[] };

/**
 * Fills a file's text in. `file` is named in faults; `valueOf` is asked once for each placeholder as it is written. Every fault
 * is said, not only the first, and then nothing is filled.
 */
export function fillText(of: {
  readonly file: string;
  readonly text: string;
  readonly format: FileFormat;
  readonly valueOf: (placeholder: Placeholder) => Value;
}): Filled {
  const { file, text, format } = of;
  const fault = (placeholder: string, says: string): FillFault => ({ file, placeholder, says: `${file}: ${says}` });
  const unfilled = (faults: readonly FillFault[]): Filled => ({ kind: 'unfilled', faults });
  const fillings = new Map<string, Filling>();
  const faults: FillFault[] = [];
  for (const { found } of onceEach(findPlaceholders(text))) {
    if (found.kind === 'placeholder-fault') faults.push(fault(found.written, found.says));
    else {
      const read = fillingOf(found, of.valueOf(found));
      if ('says' in read) faults.push(fault(found.written, `${found.written}: ${read.says}`));
      else fillings.set(found.written, read);
    }
  }
  if (faults.length > 0) return unfilled(faults);
  const template = templateOf(text, ({ written }) => fillings.get(written) ?? { kind: 'raw', text: written });
  const { edits, misfits } = fitting(template, format);
  if (misfits.length > 0)
    return unfilled(
      misfits.map(({ at, says }) => {
        const written = template.fillings.get(at)?.placeholder.written ?? '';
        return fault(written, `${written}: ${says}`);
      }),
    );
  const filled = applyEdits(template.text, edits);
  if (format === 'json' && fillings.size > 0 && !isJson(filled))
    return unfilled(
      [...fillings.keys()].map((written) =>
        fault(written, `${written}: the file filled in is no JSON; correct what stands around it`),
      ),
    );
  return { kind: 'filled', text: filled };
}

/**
 * What keeps a file from ever being filled in, whatever its values are: where its placeholders stand. Looked for when a module is
 * added, so that nobody learns it from a node. What `|raw` does to a file is not known before.
 */
export function placementFaults(of: {
  readonly file: string;
  readonly text: string;
  readonly format: FileFormat;
}): readonly FillFault[] {
  if (findPlaceholders(of.text).some(({ found }) => found.kind === 'placeholder' && found.form === 'raw')) return [];
  const tried = fillText({ ...of, valueOf: () => ({ kind: 'value', value: 'x' }) });
  return tried.kind === 'filled' ? [] : tried.faults;
}

function onceEach(found: ReturnType<typeof findPlaceholders>): ReturnType<typeof findPlaceholders> {
  return [...new Map(found.map((one) => [one.found.written, one])).values()];
}

/** A value in the form that its placeholder asks for. */
function fillingOf(placeholder: Placeholder, value: Value): Filling | { readonly says: string } {
  if (value.kind === 'missing') return { says: value.reason };
  const typed: Filling = { kind: 'typed', value: value.value };
  if (holdsSurrogate(value.value)) return { says: 'its value is no well-formed text' };
  if (placeholder.form === undefined) return typed;
  const text = wordsOf(typed);
  if (text === undefined) return { says: nullSays(placeholder) };
  if (placeholder.form === 'raw') return { kind: 'raw', text };
  return { kind: 'typed', value: placeholder.field === 'host' ? hostInAddress(text) : percentEncoded(text) };
}

function holdsSurrogate(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => holdsSurrogate(name) || holdsSurrogate(member));
}

/** P13. Every byte outside RFC 3986's unreserved characters as `%XX`: what may stand in any part of an address. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A host where an address has it: an IPv6 address stands in brackets there (C42). */
function hostInAddress(host: string): string {
  return /^[0-9a-fA-F.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$/.test(host) ? `[${host}]` : percentEncoded(host);
}

/** The edits of a format, each mark covered or said why not. */
function fitting(template: Template, format: FileFormat): Edits {
  const { edits, misfits } = editsOf(template, format);
  const isCovered = (at: number): boolean =>
    edits.some((edit) => edit.start <= at && at < edit.end) || misfits.some((misfit) => misfit.at === at);
  const rest = [...template.fillings.keys()].filter((at) => !isCovered(at));
  const isRaw = (at: number): boolean => template.fillings.get(at)?.filling.kind === 'raw';
  return {
    edits: [...edits, ...inPlace(template, rest.filter(isRaw), (text) => text)],
    misfits: [
      ...misfits,
      ...rest
        .filter((at) => !isRaw(at))
        .map((at) => ({
          at,
          says: `stands where ${format} has no value, in a comment, a name or a heading; take it out, or write |raw`,
        })),
    ].toSorted((a, b) => a.at - b.at),
  };
}

function editsOf(template: Template, format: FileFormat): Edits {
  switch (format) {
    case 'json':
      return fillJson(template);
    case 'yaml':
      return fillYaml(template);
    case 'env':
      return fillEnv(template);
    case 'ini':
      return fillIni(template);
    case 'raw':
      return fillRaw(template);
    default:
      return assertNever(format);
  }
}

function fillRaw(template: Template): Edits {
  const marks = [...template.fillings.keys()];
  return { edits: inPlace(template, marks, (text) => text), misfits: textless(template, marks) };
}
