/**
 * Where the values of a kind are, as a manifest's `answers` and the registry say it: a bucket and the shape of its keys.
 *
 * | in a shape | stands for |
 * | --- | --- |
 * | `<node>`, `<module>` | who asks |
 * | `<kind>`, `<name>` | what is asked, its name as one token |
 * | `<name...>` | its name, a token each part: a provision and its local |
 * | `<provider>` | in a bucket's name alone: who provides what is asked |
 * | `*` | any: all such keys are gathered, as the items of a collection |
 * | `#part.<name>` at the end | the value is this part of what the key holds |
 *
 * `<node>.<module>.<name>` is a key a setting; `*.<kind>:<name>.*` gathers a collection; `<node>.<module>#ports.<name>` looks
 * into the module's plan.
 */
import { encodeToken } from './keys.ts';
import { nameOf, type Placeholder } from './placeholders.ts';
import type { Answer } from './values.ts';

/** What is asked, by whom; `provider`: whose provision it is, where the kind is about one. */
export type Asking = {
  readonly node: string;
  readonly module: string;
  readonly placeholder: Placeholder;
  readonly provider?: string;
};
/** Where one placeholder's value is. `at`: the way into the value. `keys`: a filter of the bus, for `gather`. */
export type Location =
  | { readonly kind: 'key'; readonly bucket: string; readonly key: string; readonly at: readonly string[] }
  | { readonly kind: 'gather'; readonly bucket: string; readonly keys: string; readonly at: readonly string[] }
  | { readonly kind: 'verb'; readonly seat: string; readonly verb: string }
  | { readonly kind: 'nowhere'; readonly says: string };

const token = /^(?:\*|(?:<(?:node|module|kind|name)>|[A-Za-z0-9_:-])+|<name\.\.\.>)$/;
const steps = /^(?:<(?:kind|name)>|[A-Za-z0-9_-]+)(?:\.(?:<(?:kind|name)>|[A-Za-z0-9_-]+))*$/;
const bucketShape = /^(?:[A-Za-z0-9_-]|<provider>)+$/;

/** What is wrong with the bucket or the key shape of an answer, or undefined. */
export function shapeFault(bucket: string, key: string): string | undefined {
  if (!bucketShape.test(bucket))
    return `found the bucket ${JSON.stringify(bucket)}; write its name: letters, digits, "_" and "-", and <provider> for who provides it`;
  const [tokens = '', at, ...more] = key.split('#');
  const wrong = splitTokens(tokens).find((one) => !token.test(one));
  if (wrong !== undefined)
    return `found ${JSON.stringify(wrong)} in the key ${JSON.stringify(key)}; write parts joined by dots, each of letters, digits, "_", "-", ":", <node>, <module>, <kind>, <name>, or "*" for any`;
  if (more.length > 0 || (at !== undefined && !steps.test(at)))
    return `found ${JSON.stringify(key.slice(tokens.length))} at the end of the key; write "#" and the way into the value, like #ports.<name>`;
  return undefined;
}

/** `<name...>` holds dots of its own. */
const splitTokens = (shape: string): readonly string[] =>
  shape
    .replaceAll('<name...>', '<name\u0000>')
    .split('.')
    .map((one) => one.replace('\u0000', '...'));

/** Where the value of a placeholder is, by its kind's entry in the registry. */
export function locate(answer: Answer, asking: Asking): Location {
  if ('seat' in answer) return { kind: 'verb', seat: answer.seat, verb: answer.verb };
  const { placeholder, provider } = asking;
  if (answer.bucket.includes('<provider>') && provider === undefined)
    return {
      kind: 'nowhere',
      says: `${asking.module} on ${asking.node} is bound to no provider of ${nameOf(placeholder)}`,
    };
  const bucket = answer.bucket.replaceAll('<provider>', provider ?? '');
  const [shape = '', at] = answer.key.split('#');
  const filled = splitTokens(shape).flatMap((one) => {
    if (one === '*') return ['*'];
    if (one === '<name...>') return placeholder.name.map(encodeToken);
    return [encodeToken(fillIn(one, asking))];
  });
  const way = at === undefined ? [] : at.split('.').map((step) => fillIn(step, asking));
  const key = filled.join('.');
  return filled.includes('*') ? { kind: 'gather', bucket, keys: key, at: way } : { kind: 'key', bucket, key, at: way };
}

function fillIn(shape: string, { node, module, placeholder }: Asking): string {
  return shape
    .replaceAll('<node>', node)
    .replaceAll('<module>', module)
    .replaceAll('<kind>', placeholder.of)
    .replaceAll('<name>', nameOf(placeholder));
}

/** The part of a bucket's value that a placeholder asks for: the way of its location, then its field. Undefined: not there. */
export function partOf(value: unknown, at: readonly string[], field?: string): unknown {
  return [...at, ...(field === undefined ? [] : [field])].reduce(memberOf, value);
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return new Map<string, unknown>(Object.entries(value)).get(name);
}
