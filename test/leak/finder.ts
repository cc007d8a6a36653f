/** Finds known secrets in bytes, in every form that they are likely to be written in. */

/** `of`: which secret; `secret`: its bytes. */
export type Known = { readonly of: string; readonly secret: Buffer };
export type Found = { readonly of: string; readonly form: string };

/** How a secret looks when it is written raw, as hex, as base64 wherever it stands in what was encoded, and so on. */
export function formsOf(secret: Buffer): ReadonlyMap<string, Buffer> {
  const text = secret.toString('utf8');
  const hex = secret.toString('hex');
  const half = Math.ceil(secret.length / 2);
  const forms = new Map<string, Buffer>([
    ['raw', secret],
    // Half of it is enough to be a leak, and is what a page's end or a cut line leaves.
    ['first half', secret.subarray(0, half)],
    ['second half', secret.subarray(-half)],
    ['UTF-16', Buffer.from(text, 'utf16le')],
    ['hex', Buffer.from(hex)],
    ['HEX', Buffer.from(hex.toUpperCase())],
    ['percent', Buffer.from(encodeURIComponent(text))],
    ['JSON', Buffer.from(JSON.stringify(text).slice(1, -1))],
  ]);
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), secret]);
    // What stands before and after the secret changes the characters at its edges: those between them stay.
    const [from, to] = [Math.ceil((before * 4) / 3), Math.floor((encoded.length * 4) / 3)];
    forms.set(`base64, ${before} before`, Buffer.from(encoded.toString('base64').slice(from, to)));
    forms.set(`base64url, ${before} before`, Buffer.from(encoded.toString('base64url').slice(from, to)));
  }
  return forms;
}

// In a test's realm a look at a global is slow, and this one is done once a word.
const { imul } = Math;

type Needle = { readonly of: string; readonly form: string; readonly bytes: Buffer; readonly offset: number };

/**
 * One pass over the bytes for all forms of all secrets: every fourth position is looked up, and a form is entered under
 * the word at each of its first four offsets, one of which falls on such a position wherever the form stands.
 */
export function finderOf(secrets: readonly Known[]): (bytes: Buffer) => readonly Found[] {
  const byWord = new Map<number, Needle[]>();
  const maybe = new Uint8Array(1 << 20);
  const slot = (word: number): number => imul(word, 0x9e3779b1) >>> 12;
  for (const { of, secret } of secrets) {
    const written = new Set<string>();
    for (const [form, bytes] of formsOf(secret)) {
      if (bytes.length < 10) throw new Error(`${of} is too short to be told from chance as ${form}`);
      if (written.has(bytes.toString('latin1'))) continue;
      written.add(bytes.toString('latin1'));
      for (const offset of [0, 1, 2, 3]) {
        const word = bytes.readUInt32LE(offset);
        byWord.set(word, [...(byWord.get(word) ?? []), { of, form, bytes, offset }]);
        maybe[slot(word)] = 1;
      }
    }
  }
  return (given) => {
    const bytes = given.byteOffset % 4 === 0 ? given : Buffer.from(new Uint8Array(given).buffer);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
    const found = new Map<string, Found>();
    for (let at = 0; at < words.length; at += 1) {
      const word = words[at] ?? 0;
      if (maybe[slot(word)] === 0) continue;
      for (const needle of byWord.get(word) ?? []) {
        const start = at * 4 - needle.offset;
        if (start < 0 || start + needle.bytes.length > bytes.length) continue;
        if (bytes.compare(needle.bytes, 0, needle.bytes.length, start, start + needle.bytes.length) === 0)
          found.set(`${needle.of} ${needle.form}`, { of: needle.of, form: needle.form });
      }
    }
    return [...found.values()];
  };
}
