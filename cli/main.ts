/** The command: reads the command line, runs what it asks for, prints what came of it, and ends with U1's codes. */
import { answer } from './answer.ts';
import { builtCommands } from './built-commands.ts';
import { problemOf } from './errors.ts';
import { exit } from './exit.ts';
import { asksForJson, parse } from './parse.ts';
import { problemOfRefusal } from './problem.ts';
import { settingsFrom } from './settings.ts';
import { terminal } from './terminal.ts';
import { version } from './version.ts';

/** Runs one command line and returns the code to end with. */
async function main(argv: readonly string[]): Promise<number> {
  const noColor = argv.includes('--no-color');
  const say = terminal({ env: process.env, isJson: asksForJson(argv), noColor });
  try {
    const parsed = parse(argv, builtCommands(), version);
    switch (parsed.kind) {
      case 'text':
        say.print(answer('mesh.text', { text: parsed.text }, ({ text }) => text));
        return exit.done;
      case 'wrong':
        return say.problem(parsed.problem);
      case 'run': {
        const settings = settingsFrom(process.env, parsed.globals.state);
        const came = await parsed.command.run(parsed.given, say.context(settings));
        if (came === undefined) return exit.done;
        if (!('schema' in came)) return say.problem(problemOfRefusal(came));
        say.print(came);
        return came.exitCode;
      }
    }
  } catch (error) {
    return say.problem(problemOf(error));
  }
}

// A reader that has seen enough (`mesh events | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? exit.done : exit.failed),
);
process.exitCode = await main(process.argv.slice(2));
