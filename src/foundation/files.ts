/** Files of the state folder: whole or not there, and secrets readable by their owner alone. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';

/** The passwords of the mesh's own Postgres in the folder of secrets: the controller's role, and the superuser. */
export const storePasswordFiles = ['postgres-controller', 'postgres-superuser'] as const;

/** Writes a file that is never seen half written, even after the power went. */
export async function writeWhole(file: string, text: string, mode: number): Promise<void> {
  const fresh = `${file}.${randomBytes(4).toString('hex')}.new`;
  const handle = await open(fresh, 'wx', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

/** A folder for secrets or for a program's own files: entered by its owner alone. */
export async function privateFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  return folder;
}

/** Makes a random password in a 0600 file unless there is one; returns the file, never the password. */
export async function passwordFile(file: string): Promise<string> {
  if ((await readPassword(file).catch(() => undefined)) === undefined) {
    await privateFolder(path.dirname(file));
    await writeWhole(file, `${randomBytes(32).toString('base64url')}\n`, 0o600);
  }
  return file;
}

/** The password in a file, without the end of its line. Errors: not there, or empty. */
export async function readPassword(file: string): Promise<string> {
  const password = (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  if (password === '') throw new Error(`the password file ${file} is empty`);
  return password;
}

/** The same as bytes, for a verifier. */
export async function passwordBytes(file: string): Promise<Uint8Array> {
  return Buffer.from(await readPassword(file), 'utf8');
}

/** Whether a caught value is a system error of this code, like ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
