/** Runs the command as a person would, as a process of its own, and shows what it printed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import path from 'node:path';
import { meshProgram } from '../processes.ts';

export type Shell = {
  /** Shows the command line and all that it prints. Errors: it ended with another code than 0. */
  show(args: readonly string[]): Promise<void>;
  /** Runs it unseen, with --json, and answers the object. `codes`: exit codes that are no error. */
  ask(args: readonly string[], codes?: readonly number[]): Promise<unknown>;
};

/** `print` is given what a person would see. */
export function shellOn(stateFolder: string, print: (text: string) => void): Shell {
  const run = async (args: readonly string[], codes: readonly number[], isShown: boolean): Promise<string> => {
    const child = spawn(process.execPath, [meshProgram, ...args, '--state', stateFolder], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'exit');
    child.stderr.setEncoding('utf8');
    let said = '';
    child.stderr.on('data', (part: string) => {
      said += part;
      if (isShown) print(part);
    });
    const [out] = await Promise.all([text(child.stdout), ended]);
    if (!codes.includes(child.exitCode ?? -1)) {
      throw new Error(`mesh ${args.join(' ')} ended with ${child.exitCode ?? child.signalCode ?? 'nothing'}`, {
        cause: new Error(`${said}${out}`.trim()),
      });
    }
    return out;
  };
  return {
    async show(args) {
      print(`\n$ mesh ${args.map(shortened).join(' ')}\n`);
      print(await run(args, [0], true));
    },
    async ask(args, codes = [0]) {
      const answer: unknown = JSON.parse(await run([...args, '--json'], codes, false));
      return answer;
    },
  };
}

/** A path of this installation as it is shown: where it lies on this machine tells a reader nothing. */
function shortened(argument: string): string {
  return path.isAbsolute(argument)
    ? path.join(path.basename(path.dirname(argument)), path.basename(argument))
    : argument;
}
