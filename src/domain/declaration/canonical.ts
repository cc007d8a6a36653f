/** RFC 8785 canonical JSON of a value: same value, same text on any machine (D2). Throws on what has no JSON form. */
export function canonicalJson(_value: unknown): string {
  throw new Error('not written yet');
}
