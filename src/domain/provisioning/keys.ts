/**
 * Keys of the provisioner's buckets: names written as tokens (P1), tokens joined by dots. What is read back is either
 * exactly what was written or a fault that names the key; nothing is dropped and nothing is guessed.
 *
 * | bucket | key |
 * | --- | --- |
 * | `mesh-provisioner_registry` | `<kind>` |
 * | `mesh-provisioner_needs` | `<node>.<module>.<kind>.<name>` |
 * | `mesh-provisioner_applied` | `<node>.<module>` |
 * | `mesh-provisioner_collect` | `<node>.<collection>.<contributor>` |
 * | `<provider-module>_bound` | `<node>.<module>.<provision>[.<local>]` |
 * | `mesh-controller_assignments` | `<node>` (the index) and `<node>.<module>` |
 * | `mesh-controller_settings` | `<node>.<module>.<name>` |
 * | `mesh-controller_compositions` | `<module>` |
 * | `provisioner_health` | `<node>.<module>` |
 */
import { z } from 'zod';
import { collectionName, localName, moduleName, nodeName, partName, provisionName } from '../words/names.ts';

/** A key out of its bucket's shape: which one, and what is wrong with it. */
export type KeyFault = { readonly kind: 'key-fault'; readonly key: string; readonly says: string };

const plain = /^[A-Za-z0-9_/-]+$/;
const spelled = /^(?:[A-Za-z0-9_/-]|=[0-9A-F]{2})+$/;

/**
 * P1. A name as one token of a key: two upper-case hex digits a byte of UTF-8 for all that a token cannot hold, `=` and `.`
 * included. No two names share a token.
 * @throws on an empty text and on a lone surrogate: neither has a token.
 */
export function encodeToken(text: string): string {
  if (plain.test(text)) return text;
  if (text === '') throw new TypeError('an empty text is no token of a key');
  if (/\p{Surrogate}/u.test(text)) throw new TypeError('a text with a lone surrogate is no token of a key');
  return text.replaceAll(/[^A-Za-z0-9_/-]/gu, spellOut);
}

function spellOut(character: string): string {
  return Array.from(
    new TextEncoder().encode(character),
    (byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('');
}

/** P1. The name that a token stands for; a token that no name is written as is a fault, never a near guess. */
export function decodeToken(token: string): { readonly kind: 'text'; readonly text: string } | KeyFault {
  if (plain.test(token)) return { kind: 'text', text: token };
  if (!spelled.test(token)) return malformed(token);
  const bytes = Array.from(token.matchAll(/=([0-9A-F]{2})|(.)/g), ([, hex, character]) =>
    hex === undefined ? (character ?? '').charCodeAt(0) : Number.parseInt(hex, 16),
  );
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
    // What could be written plainly was not spelled out by us: two tokens would stand for one name.
    return encodeToken(text) === token ? { kind: 'text', text } : malformed(token);
  } catch {
    // Bytes that are no UTF-8 were never a name; which bytes they were says the key itself.
    return malformed(token);
  }
}

function malformed(token: string): KeyFault {
  return {
    kind: 'key-fault',
    key: token,
    says: `${JSON.stringify(token)} is not how a name is written in a key: letters, digits, "_", "-" and "/" stand for themselves, every other byte is "=" and two upper-case hex digits`,
  };
}

/** The keys of one bucket: made from their parts, and read back into them. */
export type Keys<Parts> = {
  /** How the bucket's keys look, for people: `<node>.<module>`. */
  readonly shape: string;
  readonly of: (parts: Parts) => string;
  readonly read: (key: string) => { readonly kind: 'key'; readonly parts: Parts } | KeyFault;
};

/** Each part is one token, in the order of the schema; only the last may be left out. */
function keys<Schema extends z.ZodObject>(schema: Schema): Keys<z.infer<Schema>> {
  const names = Object.keys(schema.shape);
  const isOptional = (name: string): boolean => schema.shape[name] instanceof z.ZodOptional;
  const shape = names
    .map((name, index) => (isOptional(name) ? `[.<${name}>]` : `${index === 0 ? '' : '.'}<${name}>`))
    .join('');
  return {
    shape,
    of: (parts) => {
      const values = new Map<string, unknown>(Object.entries(parts));
      return names
        .flatMap((name) => {
          const value = values.get(name);
          return typeof value === 'string' ? [encodeToken(value)] : [];
        })
        .join('.');
    },
    read: (key) => {
      const tokens = key.split('.');
      const fault = (says: string): KeyFault => ({
        kind: 'key-fault',
        key,
        says: `key ${JSON.stringify(key)}: ${says}`,
      });
      if (tokens.length > names.length) return fault(`has ${tokens.length} parts; a key here is ${shape}`);
      const texts: [string, string][] = [];
      for (const [index, token] of tokens.entries()) {
        const read = decodeToken(token);
        if (read.kind === 'key-fault') return fault(read.says);
        texts.push([names[index] ?? '', read.text]);
      }
      const parsed = schema.safeParse(Object.fromEntries(texts));
      if (parsed.success) return { kind: 'key', parts: parsed.data };
      if (tokens.length < names.length) return fault(`has ${tokens.length} parts; a key here is ${shape}`);
      return fault(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
    },
  };
}

const anyName = z.string().min(1);

export const registryKeys = keys(z.strictObject({ kind: partName }));
export const needKeys = keys(z.strictObject({ node: nodeName, module: moduleName, kind: partName, name: anyName }));
export const appliedKeys = keys(z.strictObject({ node: nodeName, module: moduleName }));
/** The contributor is a module, or a module and a part of it: `notes`, `notes:web` (`contributorOf`). */
export const collectKeys = keys(
  z.strictObject({ node: nodeName, collection: collectionName, contributor: collectionName }),
);
/** The consumer's: node, module, provision and, for a credential with a local name, that. */
export const boundKeys = keys(
  z.strictObject({
    node: nodeName,
    module: moduleName,
    provision: provisionName,
    local: localName.optional(),
  }),
);
/** Without a module: the node's index. */
export const assignmentKeys = keys(z.strictObject({ node: nodeName, module: moduleName.optional() }));
export const settingKeys = keys(z.strictObject({ node: nodeName, module: moduleName, name: partName }));
export const compositionKeys = keys(z.strictObject({ module: moduleName }));
export const healthKeys = keys(z.strictObject({ node: nodeName, module: moduleName }));

/** P2. All keys of one node in a bucket whose keys begin with the node, as the bus filters them; a node named `web` does not cover `web.eu`. */
export function keysUnder(node: string): string {
  return `${encodeToken(node)}.>`;
}
