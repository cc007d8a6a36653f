/** What may stand where the last word of a command line is: made from the definitions, so that it cannot offer what is not there. */
import { globalOptions, type CommandDefinition, type OptionDefinition } from '../definition.ts';

/** What a placeholder stands for, by the name that definitions give it. */
export type NameKind =
  'node' | 'module' | 'placed' | 'provision' | 'act' | 'provider' | 'thing' | 'secret' | 'credential';

const kinds: Readonly<Record<string, NameKind>> = {
  NODE: 'node',
  MODULE: 'module',
  'NODE/MODULE': 'placed',
  PROVISION: 'provision',
  PROVIDER: 'provider',
  ACT: 'act',
  THING: 'thing',
  SECRET: 'secret',
  CREDENTIAL: 'credential',
};
/** Words that are always the same. */
const fixed: Readonly<Record<string, readonly string[]>> = { SHELL: ['bash', 'zsh', 'fish'], FORMAT: ['text', 'json'] };

/**
 * The candidates that begin as the last of `words` does, sorted. `names` answers what the mesh has of a kind; it is asked only
 * where one belongs. Files are the shell's own matter: for those there are none here.
 */
export async function completionsOf(
  words: readonly string[],
  table: readonly CommandDefinition[],
  names: (kind: NameKind) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const before = words.slice(0, -1);
  const begun = words.at(-1) ?? '';
  const known = table.filter(({ hidden }) => hidden !== true);
  const candidates = await candidatesOf(before, begun, known, names);
  return [...new Set(candidates)].filter((one) => one.startsWith(begun)).toSorted();
}

async function candidatesOf(
  before: readonly string[],
  begun: string,
  table: readonly CommandDefinition[],
  names: (kind: NameKind) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const named = (placeholder: string): Promise<readonly string[]> | readonly string[] => {
    const kind = kinds[placeholder];
    return kind === undefined ? (fixed[placeholder] ?? []) : names(kind);
  };
  const all = [...globalOptions, ...table.flatMap(({ options = [] }) => options)];
  const plain = plainWords(before, all);
  const command = commandOf(plain, table);
  const options = [...(command?.options ?? []), ...globalOptions];
  const awaited = options.find((option) => option.value !== undefined && isWritten(option, before.at(-1)));
  if (awaited?.value !== undefined) return named(awaited.value);
  if (begun.startsWith('-')) return options.map(({ name }) => `--${name}`);
  if (command === undefined) return nextWords(plain, table);
  const args = command.arguments ?? [];
  const last = args.at(-1);
  const place = plain.length - command.name.split(' ').length;
  const here = args[place] ?? (last?.many === true ? last : undefined);
  return here === undefined ? [] : named(here.name);
}

const isWritten = ({ name, short }: OptionDefinition, word: string | undefined): boolean =>
  word !== undefined && (word === `--${name}` || (short !== undefined && word === `-${short}`));

/** Without options and what belongs to them. */
function plainWords(words: readonly string[], options: readonly OptionDefinition[]): readonly string[] {
  return words.filter((word, index) => {
    if (word.startsWith('-')) return false;
    return !options.some((option) => option.value !== undefined && isWritten(option, words[index - 1]));
  });
}

function commandOf(words: readonly string[], table: readonly CommandDefinition[]): CommandDefinition | undefined {
  return table.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));
}

function nextWords(words: readonly string[], table: readonly CommandDefinition[]): readonly string[] {
  return table.flatMap(({ name }) => {
    const parts = name.split(' ');
    return words.every((word, index) => parts[index] === word) ? (parts[words.length] ?? []) : [];
  });
}
