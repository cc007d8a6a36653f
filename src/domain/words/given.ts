/** A field only when it has a value: what is kept and signed as JSON knows no difference between absent and undefined. */
export function given<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  const made: { [K in Key]?: Value } = {};
  if (value !== undefined) made[key] = value;
  return made;
}
