/** Programs that are measured whole, as a person runs them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs it to its end and answers what it printed; throws when it ends with a code that is not among `codes`. */
export async function run(args: readonly string[], codes: readonly number[] = [0]): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, error] = ['', ''];
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (error += piece.toString()));
  await once(child, 'close');
  if (child.exitCode === null || !codes.includes(child.exitCode))
    throw new Error(`${args.join(' ')} ended with ${String(child.exitCode)}: ${error}`);
  return out;
}
