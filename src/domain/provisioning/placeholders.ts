/**
 * Placeholders: `${kind:name}`, with a field after a second colon and a form after a bar. The one grammar of them.
 *
 * | written | what it is |
 * | --- | --- |
 * | `${config:title}` | a setting |
 * | `${secret:postgres-database}`, `${secret:postgres-database.reports:login}` | the password, or the login, of a credential and its local |
 * | `${bound:postgres-database:host}` | a readable fact of a binding |
 * | `${consumers:postgres-database}` | a provider's consumers |
 * | `${collected:route}`, `${shell:zsh:normal}`, `${environment:login}`, `${contribution:motd}` | the items of a collection |
 * | `${dir:state}`, `${port:http}`, `${access:http:host}`, `${seat:the-vault}`, `${machine:memory}`, `${machine:gpu:driver}` | where the module is placed |
 * | `${resolution:hosts}` | the lines of a hosts file: every node and every routed name of the mesh |
 * | `${weather:berlin.today:wind}` | a kind that a module of this mesh answers |
 *
 * `|url` before the brace percent-encodes the value; `|raw` leaves out the quoting of the file's format. The shell's own
 * `$NAME`, `${NAME}`, `${name:-default}` and `${name:0:3}` are not placeholders and stay as they are.
 */
import { collectionName, localName, partName } from '../words/names.ts';

export type Placeholder = {
  readonly kind: 'placeholder';
  /** As it stands in the file. */
  readonly written: string;
  /** What it asks for: `config`, `secret`, … */
  readonly of: string;
  /** Its name in parts: a provision and its local, or the words of a collection. */
  readonly name: readonly string[];
  readonly field?: string;
  readonly form?: 'url' | 'raw';
};
/** What looks like a placeholder and is none: what was found, and what to write. */
export type PlaceholderFault = { readonly kind: 'placeholder-fault'; readonly written: string; readonly says: string };
/** A placeholder of a text, and where it begins there. */
export type FoundPlaceholder = { readonly at: number; readonly found: Placeholder | PlaceholderFault };

/** P4. How a kind's name is read: in one part, in a provision and its local, or as a collection; and what fields it has. */
type Grammar = {
  readonly name: 'one' | 'dotted' | 'collection';
  readonly fields: 'none' | 'any' | readonly string[];
  readonly needsField?: true;
};
const grammars: ReadonlyMap<string, Grammar> = new Map<string, Grammar>([
  ['config', { name: 'one', fields: 'none' }],
  ['secret', { name: 'dotted', fields: ['password', 'login'] }],
  ['bound', { name: 'dotted', fields: ['host', 'port', 'database', 'owner', 'login'], needsField: true }],
  ['consumers', { name: 'one', fields: 'none' }],
  ['collected', { name: 'collection', fields: 'none' }],
  ['shell', { name: 'collection', fields: 'none' }],
  ['environment', { name: 'collection', fields: 'none' }],
  ['contribution', { name: 'collection', fields: 'none' }],
  ['dir', { name: 'one', fields: 'none' }],
  ['access', { name: 'one', fields: ['host', 'port'], needsField: true }],
  ['port', { name: 'one', fields: 'none' }],
  ['seat', { name: 'one', fields: 'none' }],
  ['machine', { name: 'one', fields: 'any' }],
  ['resolution', { name: 'one', fields: 'none' }],
]);
/** A kind that a module of the mesh answers: nothing is known of its fields. */
const foreign: Grammar = { name: 'dotted', fields: 'any' };

/** The kinds that the mesh itself answers, each of which is a placeholder whatever its name begins with (P4). */
export const meshKinds: readonly string[] = [...grammars.keys()];

// Other words are kinds only before a letter: `${x:0:3}` and `${x:-y}` are the shell's.
const looksLikeOne = new RegExp(
  `\\$\\{(?:(?:${meshKinds.join('|')}):[A-Za-z0-9_<.]|[a-z][a-z0-9-]*:[a-z])[^{}\\s]*\\}`,
  'g',
);

/** All that looks like a placeholder, in the order of the text, read or faulted. */
export function findPlaceholders(text: string): readonly FoundPlaceholder[] {
  return Array.from(text.matchAll(looksLikeOne), (match) => ({ at: match.index, found: parsePlaceholder(match[0]) }));
}

/** The placeholders of a text, as they are written, each once. */
export function placeholdersIn(text: string): readonly string[] {
  return [...new Set(text.match(looksLikeOne))];
}

/** Reads one `${…}`; the fault says what was found and what to write. */
export function parsePlaceholder(written: string): Placeholder | PlaceholderFault {
  const fault = (says: string): PlaceholderFault => ({
    kind: 'placeholder-fault',
    written,
    says: `${written}: ${says}`,
  });
  const [, of = '', rest = '', form] = /^\$\{([a-z][a-z0-9-]*):([^|]*)(?:\|(.*))?\}$/s.exec(written) ?? [];
  if (of === '') return fault('is not a placeholder; write ${kind:name}, like ${config:title}');
  if (form !== undefined && form !== 'url' && form !== 'raw')
    return fault(`found the form |${form}; write |url, |raw, or leave it out`);
  const grammar = grammars.get(of) ?? foreign;
  const [first = '', ...others] = rest.split(':');
  const name = grammar.name === 'collection' ? rest.split(':') : grammar.name === 'dotted' ? first.split('.') : [first];
  const field = grammar.name === 'collection' ? undefined : others[0];
  const says =
    nameFault(of, grammar, name) ?? fieldFault(of, first, grammar, grammar.name === 'collection' ? [] : others);
  if (says !== undefined) return fault(says);
  return {
    kind: 'placeholder',
    written,
    of,
    name,
    ...(field === undefined ? {} : { field }),
    ...(form === undefined ? {} : { form }),
  };
}

function nameFault(of: string, grammar: Grammar, name: readonly string[]): string | undefined {
  if (grammar.name === 'collection')
    return collectionName.safeParse(name.join(':')).success
      ? undefined
      : `found the collection ${JSON.stringify(name.join(':'))}; write names of lower-case letters, digits and inner hyphens with ":" between them, like \${shell:zsh:normal}`;
  const wrong = name.find((part) => !partName.safeParse(part).success);
  if (wrong !== undefined)
    return `found the name ${JSON.stringify(wrong)}; write lower-case letters, digits and inner hyphens, like \${${of}:${grammar.name === 'dotted' ? 'postgres-database' : 'title'}}`;
  if (name.length > 2 && grammars.has(of))
    return `found ${name.length} parts in its name; write a provision and at most one local name, like \${${of}:postgres-database.reports}`;
  return undefined;
}

function fieldFault(of: string, name: string, grammar: Grammar, fields: readonly string[]): string | undefined {
  const [field, second] = fields;
  const known = typeof grammar.fields === 'string' ? '' : grammar.fields.join(', ');
  if (field === undefined)
    return grammar.needsField === true
      ? `names no field; write one of ${known}, like \${${of}:${name}:host}`
      : undefined;
  if (second !== undefined) return `found ${fields.length} fields; write one at most`;
  if (grammar.fields === 'none')
    return `found the field ${JSON.stringify(field)}; ${of} has no fields, write \${${of}:${name}}`;
  if (grammar.fields === 'any')
    return localName.safeParse(field).success
      ? undefined
      : `found the field ${JSON.stringify(field)}; write lower-case letters, digits and inner hyphens`;
  return grammar.fields.includes(field) ? undefined : `found the field ${JSON.stringify(field)}; write one of ${known}`;
}

/** Its name as one text, which the key of its need is made of: `postgres-database.reports`, `zsh:normal`. */
export function nameOf(placeholder: Placeholder): string {
  return placeholder.name.join(grammars.get(placeholder.of)?.name === 'collection' ? ':' : '.');
}
