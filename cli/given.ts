/** What a command line gave, already checked for its form. Asking for what the definition does not have is a bug. */
export type Given = {
  /** An argument or option that is always there: required, or with a default. */
  text(name: string): string;
  maybe(name: string): string | undefined;
  many(name: string): readonly string[];
  flag(name: string): boolean;
  /** Of a `duration` in ms, of a `count` as it is. */
  number(name: string): number;
  maybeNumber(name: string): number | undefined;
};

export type GivenValue = string | number | boolean | readonly string[] | undefined;

/** Reads a checked command line by name. */
export function givenOf(values: ReadonlyMap<string, GivenValue>): Given {
  const value = (name: string): GivenValue => {
    if (!values.has(name)) throw new Error(`a command asked for ${name}, which its definition does not have`);
    return values.get(name);
  };
  const wrong = (name: string): never => {
    throw new Error(`a command asked for ${name} as what its definition does not say it is`);
  };
  const maybe = (name: string): string | undefined => {
    const found = value(name);
    return found === undefined || typeof found === 'string' ? found : wrong(name);
  };
  const maybeNumber = (name: string): number | undefined => {
    const found = value(name);
    return found === undefined || typeof found === 'number' ? found : wrong(name);
  };
  return {
    maybe,
    maybeNumber,
    text: (name) => maybe(name) ?? wrong(name),
    number: (name) => maybeNumber(name) ?? wrong(name),
    many: (name) => {
      const found = value(name);
      if (found === undefined) return [];
      return typeof found === 'object' ? found : wrong(name);
    },
    flag: (name) => value(name) === true,
  };
}
