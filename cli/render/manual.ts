/** The manual: docs/commands.md, made from the definitions, so that it cannot say what is not so. */
import { globalOptions, type CommandDefinition, type OptionDefinition } from '../definition.ts';
import { exitMeanings } from '../exit.ts';
import { groups, optionRows, shownIn, usage } from './help.ts';

/** The whole page. */
export function manualPage(table: readonly CommandDefinition[]): string {
  const sections = groups.flatMap((group) => {
    const commands = shownIn(table).filter((command) => command.group === group);
    return commands.length === 0 ? [] : [`## ${capital(group)}`, ...commands.map(commandSection)];
  });
  return `${[
    '# The command `mesh`',
    'Made from the definitions in `cli/commands` by `node scripts/write-manual.mjs`; a test fails when it is not up to date. `mesh <command> --help` says the same.',
    `Every command takes:\n\n${optionTable(globalOptions)}`,
    `It ends with:\n\n| code | means |\n| --- | --- |\n${exitMeanings.map(([code, meaning]) => `| ${code} | ${meaning} |`).join('\n')}`,
    'With `--json` an answer is one object on standard output with `schema` and `version`; an error is one too, with `schema` `mesh.error` ([refusals](refusals.md)). Progress goes to standard error in either form. Times are RFC 3339 UTC.',
    ...sections,
  ].join('\n\n')}\n`;
}

function commandSection(command: CommandDefinition): string {
  const { name, summary, details, arguments: args = [], options = [], examples } = command;
  return [
    `### \`mesh ${name}\``,
    `${capital(summary)}.${details === undefined ? '' : ` ${details}`}`,
    `\`\`\`\n${usage(command)}\n\`\`\``,
    ...(args.length === 0
      ? []
      : [`| argument | |\n| --- | --- |\n${args.map((one) => row(one.name, one.says)).join('\n')}`]),
    ...(options.length === 0 ? [] : [optionTable(options)]),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
  ].join('\n\n');
}

const optionTable = (options: readonly OptionDefinition[]): string =>
  `| option | |\n| --- | --- |\n${optionRows(options)
    .map(([left, right]) => row(left, right))
    .join('\n')}`;
const row = (left: string, right: string): string => `| \`${left}\` | ${right.replaceAll('|', '\\|')} |`;
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
