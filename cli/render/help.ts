/** Help, made from the definitions alone. Works with nothing configured. */
import {
  globalOptions,
  type ArgumentDefinition,
  type CommandDefinition,
  type Group,
  type OptionDefinition,
} from '../definition.ts';
import { exitMeanings } from '../exit.ts';
import { indent } from './table.ts';

/** In the order that help lists them. */
export const groups: readonly Group[] = [
  'the mesh',
  'nodes',
  'modules',
  'intent',
  'what is so',
  'secrets',
  'processes',
];

/** Those that a person is told of. */
export const shownIn = (table: readonly CommandDefinition[]): readonly CommandDefinition[] =>
  table.filter(({ hidden }) => hidden !== true);

/** Every command, by group. */
export function helpOfAll(table: readonly CommandDefinition[]): string {
  const all = shownIn(table);
  const width = Math.max(...all.map((command) => called(command).length));
  const sections = groups.flatMap((group) => {
    const commands = all.filter((command) => command.group === group);
    if (commands.length === 0) return [];
    return [
      `${group}:\n${indent(commands.map((command) => `${called(command).padEnd(width)}  ${command.summary}`).join('\n'))}`,
    ];
  });
  return [
    'mesh: one operator, several machines. What runs where, what each program needs from the others, and credentials that mesh cannot read.',
    'usage: mesh <command> [arguments] [options]',
    ...sections,
    `every command takes:\n${indent(options(globalOptions))}`,
    `exit codes:\n${indent(exitMeanings.map(([code, meaning]) => `${String(code).padStart(3)}  ${meaning}`).join('\n'))}`,
    'more about one: mesh <command> --help',
  ].join('\n\n');
}

/** The verbs of one noun. */
export function helpOfNoun(noun: string, table: readonly CommandDefinition[]): string {
  const commands = table.filter(({ name }) => name.startsWith(`${noun} `));
  const width = Math.max(...commands.map((command) => called(command).length));
  return [
    `usage: mesh ${noun} <verb>`,
    indent(commands.map((command) => `${called(command).padEnd(width)}  ${command.summary}`).join('\n')),
    `more about one: mesh ${noun} <verb> --help`,
  ].join('\n\n');
}

/** Everything about one command. */
export function helpOfCommand(command: CommandDefinition): string {
  const own = command.options ?? [];
  return [
    `${capital(command.summary)}.`,
    `usage: ${usage(command)}`,
    ...(command.details === undefined ? [] : [command.details]),
    ...(command.arguments === undefined
      ? []
      : [`arguments:\n${indent(aligned(command.arguments.map((one) => [one.name, one.says])))}`]),
    ...(own.length === 0 ? [] : [`options:\n${indent(options(own))}`]),
    `every command takes:\n${indent(options(globalOptions))}`,
    `examples:\n${indent(command.examples.join('\n'))}`,
  ].join('\n\n');
}

/** `mesh node invite NAME [options]` */
export function usage(command: CommandDefinition): string {
  return `mesh ${called(command)}${(command.options ?? []).length === 0 ? '' : ' [options]'}`;
}

/** Options with what they say and what is so without them. */
export function optionRows(of: readonly OptionDefinition[]): readonly (readonly [string, string])[] {
  return of.map(({ name, short, value, says, byDefault }) => [
    `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`,
    byDefault === undefined ? says : `${says} (else ${byDefault})`,
  ]);
}

const called = ({ name, arguments: args = [] }: CommandDefinition): string => [name, ...args.map(shown)].join(' ');
function shown({ name, optional, many }: ArgumentDefinition): string {
  const word = `${name}${many === true ? '…' : ''}`;
  return optional === true ? `[${word}]` : word;
}
const options = (of: readonly OptionDefinition[]): string => aligned(optionRows(of));
function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`).join('\n');
}
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
