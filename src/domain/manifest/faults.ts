/**
 * Faults of a manifest as sentences: where, what was found, what to write instead. A person reads them without
 * knowing the schema, so an unknown field names the nearest known one and a union speaks of the form that was meant.
 */
import { z } from 'zod';

/** One fault: the path inside the manifest, and a sentence. */
export type Fault = { readonly path: string; readonly says: string };

/** A strict object whose unknown fields are answered with the nearest known one. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownField(key, known)).join('; ')
        : issue.code === 'invalid_type'
          ? `found ${quoted(issue.input)}; write an object with ${known.join(', ')}`
          : undefined,
  });
}

function unknownField(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  return near === undefined
    ? `unknown field ${JSON.stringify(key)}; known here: ${known.join(', ')}`
    : `unknown field ${JSON.stringify(key)}; write ${JSON.stringify(near)}`;
}

/** The known word that the fewest letters would have to be changed for; none when all are far off. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceBetween(word.toLowerCase(), candidate) }))
    .toSorted((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  const best = ranked[0];
  return best !== undefined && best.distance <= Math.max(2, Math.floor(word.length / 3)) ? best.candidate : undefined;
}

/** Levenshtein's distance, one row at a time. */
function distanceBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let line = 1; line <= a.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= b.length; column += 1) {
      const change = (row[column - 1] ?? 0) + (a[line - 1] === b[column - 1] ? 0 : 1);
      next.push(Math.min(change, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** A value as it is quoted in a message: JSON, cut to a length that fits a line. */
export function quoted(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? typeof value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

type Issue = z.core.$ZodIssue;

/** The schema's issues about `value` as faults, each once. */
export function faultsOf(issues: readonly Issue[], value: unknown): readonly Fault[] {
  const faults = issues.flatMap((issue) => faultsOfIssue(issue, value, []));
  const seen = new Set<string>();
  return faults.filter(({ path, says }) => {
    const key = `${path}\n${says}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function faultsOfIssue(issue: Issue, value: unknown, under: readonly PropertyKey[]): readonly Fault[] {
  const path = [...under, ...issue.path];
  const found = at(value, path);
  if (issue.code === 'invalid_union') {
    const meant = optionMeant(issue.errors);
    if (meant !== undefined) return meant.flatMap((inner) => faultsOfIssue(inner, value, path));
    if (issue.discriminator !== undefined) return [{ path: named(path), says: kindSentence(issue, found) }];
    return [{ path: named(path), says: `found ${quoted(found)}; ${formsOf(issue.errors)}` }];
  }
  if (issue.code === 'invalid_key' || issue.code === 'invalid_element')
    return issue.issues.map((inner) => ({ path: named(path), says: inner.message }));
  return [{ path: named(path), says: sentence(issue, found) }];
}

function sentence(issue: Issue, found: unknown): string {
  if (issue.code === 'invalid_type' && !issue.message.startsWith('found ')) {
    const wanted = `write ${articled(issue.expected)}`;
    return found === undefined ? `is missing; ${wanted}` : `found ${quoted(found)}; ${wanted}`;
  }
  if (issue.code === 'invalid_value') {
    const values = issue.values.map(String).join(', ');
    return `found ${quoted(found)}; write ${issue.values.length === 1 ? values : `one of ${values}`}`;
  }
  if (issue.code === 'too_small')
    return `found ${quoted(found)}; write ${issue.origin === 'array' ? 'at least one' : `${issue.minimum} or more`}`;
  if (issue.code === 'too_big') return `found ${quoted(found)}; write ${issue.maximum} or less`;
  return issue.message.startsWith('Invalid') ? `found ${quoted(found)}: ${issue.message}` : issue.message;
}

function kindSentence(issue: Extract<Issue, { code: 'invalid_union' }>, found: unknown): string {
  const kinds = 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
  const near = typeof found === 'string' ? nearest(found, kinds) : undefined;
  return `found ${quoted(found)}; write ${near === undefined ? `one of ${kinds.join(', ')}` : near}`;
}

/** Of the forms a value may have, the one it was most likely meant to be: of its own type, with the fewest and the nearest faults. */
function optionMeant(options: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const weight = (issues: readonly Issue[]): number =>
    issues.reduce(
      (sum, issue) => sum + (issue.code === 'unrecognized_keys' && issue.message.includes('; write ') ? -2 : 1),
      0,
    );
  return options
    .filter((issues) => !issues.some((issue) => issue.path.length === 0 && issue.code === 'invalid_type'))
    .toSorted((a, b) => weight(a) - weight(b))[0];
}

function formsOf(options: readonly (readonly Issue[])[]): string {
  const forms = options.flatMap((issues) =>
    issues.flatMap((issue) =>
      issue.code === 'invalid_type' && issue.path.length === 0 ? [articled(issue.expected)] : [],
    ),
  );
  return `write ${[...new Set(forms)].join(' or ')}`;
}

const articled = (type: string): string => {
  const word =
    type === 'record'
      ? 'object'
      : type === 'int'
        ? 'whole number'
        : type === 'array'
          ? 'list'
          : type === 'string'
            ? 'text'
            : type;
  return word === 'text' ? word : `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
};

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let here = value;
  for (const part of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = Object.entries(here).find(([key]) => key === String(part))?.[1];
  }
  return here;
}

/** `resources[2].path`, as people point at a place in a document. */
export function named(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text === '' ? 'the whole file' : text.replace(/^\./, '');
}
