/** Secrets that a person carries: into a file that only they can read, out of one, or through a pipe; never in an argument. */
import { open, readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

import { problem, Stopped } from './problem.ts';

/** Writes a secret into a new file, for its owner alone. A file that is there is never written over. */
export async function writeSecretFile(file: string, content: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw new Stopped(
        problem('usage', {
          what: `${file} is there already`,
          why: 'a secret is never written over another file',
          next: ['give --out another name'],
        }),
      );
    }
    throw new Error(`${file} cannot be written`, { cause: error });
  });
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Reads a secret from a file, or from what is piped in. */
export async function readSecret(file: string | undefined, called: string, option: string): Promise<string> {
  if (file !== undefined && file !== '-') {
    return readFile(file, 'utf8').catch((cause: unknown) => {
      throw new Error(`${file} cannot be read`, { cause });
    });
  }
  if (process.stdin.isTTY) {
    throw new Stopped(
      problem('usage', {
        what: `${called} needs ${option} FILE, or the secret on its standard input`,
        why: 'a secret in an argument is seen by everybody on the machine, and one that is typed is seen on the screen',
        next: [`${called} ${option} FILE`, `… | ${called}`],
      }),
    );
  }
  return text(process.stdin);
}
