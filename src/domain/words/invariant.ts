/** Stops on a state that the code itself rules out: a bug, never a person's mistake. */
export function assertNever(value: never): never {
  throw new Error(`a case was forgotten: ${JSON.stringify(value)}`);
}

/** Narrows a value that the code itself guarantees; throws, loudly, when it is not there. */
export function present<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new Error(`missing although it must be there: ${what}`);
  return value;
}
