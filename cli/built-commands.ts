/**
 * The commands as the build wrote them down beside this file: what each takes, and the compiled file that runs it. So reading
 * a command line loads no command, and running one loads that one alone (U7).
 */
import { readFileSync } from 'node:fs';
import type { CommandDefinition } from './definition.ts';

type Written = Omit<CommandDefinition, 'run'> & {
  /** Relative to this file. */
  readonly file: string;
};

/** Every command there is, in the order that help lists them. */
export function builtCommands(): readonly CommandDefinition[] {
  const written: unknown = JSON.parse(readFileSync(new URL('commands.json', import.meta.url), 'utf8'));
  if (!isWritten(written)) throw new Error('commands.json is not what the build writes');
  return written.map(({ file, ...definition }) => ({
    ...definition,
    run: async (given, context) => (await commandIn(file, definition.name)).run(given, context),
  }));
}

/** The build made it from `CommandDefinition`s: it is not checked again, since a checking library costs more than all else that starts. */
function isWritten(value: unknown): value is readonly Written[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && 'file' in one);
}

async function commandIn(file: string, name: string): Promise<CommandDefinition> {
  const module: unknown = await import(new URL(file, import.meta.url).href);
  const exported: readonly unknown[] = typeof module === 'object' && module !== null ? Object.values(module) : [];
  const found = exported.find((value) => isCommand(value, name));
  if (!isCommand(found, name)) throw new Error(`${file} has no command ${name}`);
  return found;
}

function isCommand(value: unknown, name: string): value is CommandDefinition {
  return typeof value === 'object' && value !== null && 'run' in value && 'name' in value && value.name === name;
}
