/** From the definitions to commander, and from a command line to what it gave. */
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';

import { globalOptions, type CommandDefinition, type OptionDefinition } from './definition.ts';
import { parseDuration } from './duration.ts';
import { givenOf, type Given, type GivenValue } from './given.ts';
import { nearest } from './nearest.ts';
import { problem, type Problem } from './problem.ts';
import { helpOfAll, helpOfCommand, helpOfNoun, shownIn } from './render/help.ts';

export type Globals = { readonly state: string | undefined; readonly isJson: boolean; readonly noColor: boolean };
export type Parsed =
  | { readonly kind: 'run'; readonly command: CommandDefinition; readonly given: Given; readonly globals: Globals }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'wrong'; readonly problem: Problem };

/** Reads a command line (without node and script). Runs nothing. */
export function parse(argv: readonly string[], table: readonly CommandDefinition[], version: string): Parsed {
  let parsed: Parsed | undefined;
  const settle = (to: Parsed): void => {
    parsed ??= to;
  };
  const program = baseCommand(new Command('mesh'), 'mesh', () => helpOfAll(table), settle, table);
  program.version(version, '-V, --version');
  for (const option of globalOptions.filter(({ name }) => name !== 'help' && name !== 'no-color'))
    program.addOption(optionOf(option));
  program.option('--no-color');
  const nouns = new Map<string, Command>();
  for (const definition of table) {
    const command = baseCommand(
      new Command(lastWord(definition)),
      `mesh ${definition.name}`,
      () => helpOfCommand(definition),
      settle,
      table,
      definition,
    );
    for (const one of definition.arguments ?? []) {
      command.addArgument(
        new Argument(one.optional === true ? `[${one.name}${dots(one)}]` : `<${one.name}${dots(one)}>`),
      );
    }
    for (const option of definition.options ?? []) command.addOption(optionOf(option));
    command.action(() => {
      const globals = program.opts<Record<string, unknown>>();
      settle({ kind: 'run', command: definition, given: given(definition, command), globals: globalsOf(globals) });
    });
    parentOf(definition, program, nouns, settle, table).addCommand(command);
  }
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (parsed === undefined) throw error;
  }
  return parsed ?? { kind: 'text', text: helpOfAll(table) };
}

/** Whether an answer in JSON was asked for: looked at by hand, since a wrong command line is answered in JSON too. */
export function asksForJson(argv: readonly string[]): boolean {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  return own.some(
    (word, index) =>
      word === '--json' ||
      word === '-ojson' ||
      word === '--output=json' ||
      (word === 'json' && ['-o', '--output'].includes(own[index - 1] ?? '')),
  );
}

const lastWord = ({ name }: CommandDefinition): string => name.split(' ').at(-1) ?? name;
const dots = ({ many }: { readonly many?: true }): string => (many === true ? '...' : '');

function parentOf(
  { name }: CommandDefinition,
  program: Command,
  nouns: Map<string, Command>,
  settle: (to: Parsed) => void,
  table: readonly CommandDefinition[],
): Command {
  const [noun, verb] = name.split(' ');
  if (noun === undefined || verb === undefined) return program;
  const known = nouns.get(noun);
  if (known !== undefined) return known;
  const command = baseCommand(new Command(noun), `mesh ${noun}`, () => helpOfNoun(noun, table), settle, table);
  nouns.set(noun, command);
  program.addCommand(command);
  return command;
}

function baseCommand(
  command: Command,
  called: string,
  help: () => string,
  settle: (to: Parsed) => void,
  table: readonly CommandDefinition[],
  definition?: CommandDefinition,
): Command {
  const silent = (): void => undefined;
  return command
    .helpOption('-h, --help')
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => settle({ kind: 'text', text: text.trimEnd() }),
      writeErr: silent,
      outputError: silent,
    })
    .configureHelp({ formatHelp: help })
    .exitOverride((error) => {
      if (error.code !== 'commander.helpDisplayed' && error.code !== 'commander.version') {
        settle(
          called === 'mesh' && error.code === 'commander.help'
            ? { kind: 'text', text: help() }
            : { kind: 'wrong', problem: wrong(error, called, table, definition) },
        );
      }
      throw error;
    });
}

function optionOf(definition: OptionDefinition): Option {
  const { name, short, value, kind, says, many } = definition;
  const flags = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` <${value}>`}`;
  const option = new Option(flags, says);
  // Defaults are filled in by `given`, so that they are read by the same rule as what a person writes.
  if (name === 'output') return option.choices(['text', 'json']);
  if (many === true)
    return option.argParser((text: string, before: readonly string[] | undefined) => [...(before ?? []), text]);
  return kind === undefined || kind === 'text' ? option : option.argParser(readers[kind]);
}

const readers = { duration: readDuration, count: readCount };

function readDuration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('write a number and its unit: 500ms, 90s, 10m, 2h, 1d');
  return ms;
}
function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('write a whole number');
  return Number(text);
}

function given(definition: CommandDefinition, command: Command): Given {
  const values = new Map<string, GivenValue>();
  for (const [index, { name }] of (definition.arguments ?? []).entries())
    values.set(name, asGiven(command.processedArgs[index]));
  const options = command.opts<Record<string, unknown>>();
  for (const option of definition.options ?? []) {
    const found = asGiven(options[optionOf(option).attributeName()]);
    values.set(option.name, found ?? defaultOf(option));
  }
  return givenOf(values);
}

function defaultOf({ kind, byDefault }: OptionDefinition): GivenValue {
  if (byDefault === undefined || kind === undefined || kind === 'text') return byDefault;
  return readers[kind](byDefault);
}

function asGiven(value: unknown): GivenValue {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

function globalsOf(options: Record<string, unknown>): Globals {
  return {
    state: typeof options['state'] === 'string' ? options['state'] : undefined,
    isJson: options['json'] === true || options['output'] === 'json',
    noColor: options['color'] === false,
  };
}

/** What was wrong with the command line, what was likely meant, and where it is explained. */
function wrong(
  error: CommanderError,
  called: string,
  table: readonly CommandDefinition[],
  definition?: CommandDefinition,
): Problem {
  const message = error.message.replace(/^error: /, '');
  const help = `${called} --help`;
  const quoted = /'([^']*)'/.exec(message)?.[1] ?? '';
  switch (error.code) {
    case 'commander.unknownCommand': {
      const known = knownWords(called, table);
      const meant = nearest(quoted, known);
      return problem('usage', {
        what: `there is no command ${called} ${quoted}`,
        why: meant === undefined ? `what there is: ${known.join(', ')}` : `did you mean ${called} ${meant}?`,
        next: [meant === undefined ? help : `${called} ${meant} --help`],
      });
    }
    case 'commander.help':
      return problem('usage', {
        what: `${called} needs to be told what to do`,
        why: `one of: ${knownWords(called, table).join(', ')}`,
        next: [help],
      });
    case 'commander.unknownOption': {
      const known = [...(definition?.options ?? []), ...globalOptions].map(({ name }) => `--${name}`);
      const meant = nearest(quoted, known);
      return problem('usage', {
        what: `${called} has no option ${quoted}`,
        why: meant === undefined ? 'an option that is not known is never ignored' : `did you mean ${meant}?`,
        next: [help],
      });
    }
    case 'commander.missingArgument': {
      const says = definition?.arguments?.find(({ name }) => name === quoted)?.says;
      return problem('usage', {
        what: `${called} needs ${quoted}`,
        why: says ?? 'it cannot do anything without',
        next: [help],
      });
    }
    case 'commander.excessArguments':
      return problem('usage', {
        what: `${called} was given more than it takes`,
        why: message.replace(/^too many arguments[^.]*\. /, ''),
        next: [help],
      });
    default: {
      const [what = message, ...why] = message.split(/\. |(?<=is invalid)\.? /);
      return problem('usage', {
        what: `${called}: ${what}`,
        why: why.length === 0 ? 'the command line could not be read' : why.join('. '),
        next: [help],
      });
    }
  }
}

function knownWords(called: string, table: readonly CommandDefinition[]): readonly string[] {
  const within = called.split(' ').slice(1);
  return [
    ...new Set(
      shownIn(table).flatMap(({ name }) =>
        within.every((word, index) => name.split(' ')[index] === word) ? (name.split(' ')[within.length] ?? []) : [],
      ),
    ),
  ];
}
