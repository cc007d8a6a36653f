/** The canonical text of a JSON value (RFC 8785): what a digest is taken of, and what is signed (D2). */

/**
 * RFC 8785 canonical JSON: same value, same text on any machine, whatever order its keys were written in. An absent
 * (`undefined`) member is left out, as JSON does.
 * @throws on what JSON cannot say or readers disagree about: NaN, infinities, lone surrogates, functions, bigints, holes.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || value === true || value === false) return String(value);
  if (typeof value === 'string') return textOf(value);
  if (typeof value === 'number') return numberOf(value);
  if (Array.isArray(value)) return `[${Array.from(value, canonicalJson).join(',')}]`;
  if (typeof value === 'object') return objectOf(value);
  throw new TypeError(`a ${typeof value} has no JSON form`);
}

function objectOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A Map or a Date would quietly become {}: what goes into a digest says exactly what it is.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new TypeError('only plain objects have a canonical form');
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  // Sorted by UTF-16 code units, which is how JavaScript compares.
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${textOf(key)}:${canonicalJson(member)}`).join(',')}}`;
}

function textOf(text: string): string {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError('a text with a lone surrogate has no canonical form');
  return JSON.stringify(text);
}

function numberOf(number: number): string {
  if (!Number.isFinite(number)) throw new TypeError(`${number} has no JSON form`);
  return JSON.stringify(number);
}
