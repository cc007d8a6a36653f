/**
 * The data folder of a PostgreSQL server, brought to what it must be while no server runs over it: initialised, with
 * its access rules, and with the superuser's password that the password file says.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chown,
  constants,
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
} from 'node:fs/promises';
import path from 'node:path';

import { isVerifierOf, makeVerifier } from '../granters/postgres/scram.ts';
import { passwordBytes, writeWhole } from './files.ts';
import { canEnter, type Owner, type PostgresPrograms } from './postgres-programs.ts';

type DataFolder = { readonly programs: PostgresPrograms; readonly dataDir: string; readonly passwordFile: string };

/** A folder as a program of its owner sees it. When there is a handle, the program must get it as file descriptor 3. */
export type Handed = { readonly path: string; readonly handle: FileHandle | undefined };

// Everyone must log in, from wherever the address that is listened on can be reached.
const accessRules = '# Written by mesh at every start.\nhost all all all scram-sha-256\n';
const superuser = 'postgres';
// Which verifier the superuser has. It stands beside the server's own copy of it and says no more than that.
const verifierFile = 'mesh_superuser_verifier';

/**
 * Makes the folder ready for a start. Safe to repeat; a first attempt that was cut off leaves nothing that counts.
 * Errors: the folder holds something else, initdb fails, no password file.
 */
export async function preparePostgres(asked: DataFolder): Promise<void> {
  const { dataDir, programs } = asked;
  if ((await readdir(dataDir).catch(() => [])).length === 0) await initialise(asked);
  else if ((await readFile(path.join(dataDir, 'PG_VERSION'), 'utf8').catch(() => '')).trim() !== '18') {
    throw new Error(`${dataDir} holds something that is not a PostgreSQL 18 data folder`);
  }
  await writeOwned(path.join(dataDir, 'pg_hba.conf'), accessRules, programs.owner);
  if (!(await isPasswordSet(asked))) await setPassword(asked);
}

/** Whether the superuser has the password that the file says. */
export async function isPasswordSet({
  dataDir,
  passwordFile,
}: Pick<DataFolder, 'dataDir' | 'passwordFile'>): Promise<boolean> {
  const verifier = await readFile(path.join(dataDir, verifierFile), 'utf8').catch(() => '');
  return isVerifierOf(verifier.trim(), await passwordBytes(passwordFile));
}

/**
 * Shows a folder to the owner's programs: by its path, or, when the path leads through a folder that the owner may not
 * enter (a state folder under root's home), open, so that nobody's permissions have to be widened.
 */
export async function hand(folder: string, owner: Owner | undefined): Promise<Handed> {
  if (await canEnter(folder, owner)) return { path: folder, handle: undefined };
  if (process.platform !== 'linux')
    throw new Error(`the user ${superuser} may not enter a folder on the way to ${folder}`);
  return { path: '/proc/self/fd/3', handle: await open(folder, constants.O_RDONLY | constants.O_DIRECTORY) };
}

/**
 * Into a folder beside it and then renamed, so that the data folder is whole or not there. The folder is a new one each
 * time: an initdb whose starter was killed goes on, and must not write among another's files.
 */
async function initialise({ programs, dataDir, passwordFile }: DataFolder): Promise<void> {
  await removeUnfinished(dataDir);
  await mkdir(path.dirname(dataDir), { recursive: true, mode: 0o700 });
  const work = await mkdtemp(`${dataDir}.new-`);
  await own(work, programs.owner);
  const verifier = makeVerifier(await passwordBytes(passwordFile));
  // A verifier is taken as it is where a password is asked for.
  await writeOwned(path.join(work, 'verifier'), `${verifier}\n`, programs.owner);
  const folder = await hand(work, programs.owner);
  try {
    const args = [`--pgdata=${folder.path}/data`, `--pwfile=${folder.path}/verifier`, `--username=${superuser}`];
    const form = ['--encoding=UTF8', '--locale=C', '--auth-host=scram-sha-256', '--auth-local=reject'];
    await finish(programs.initdb, [...args, ...form], programs.owner, folder);
  } finally {
    await folder.handle?.close();
  }
  await writeOwned(path.join(work, 'data', verifierFile), `${verifier}\n`, programs.owner);
  await rename(path.join(work, 'data'), dataDir);
  await rm(work, { recursive: true, force: true });
}

async function removeUnfinished(dataDir: string): Promise<void> {
  const names = await readdir(path.dirname(dataDir)).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(`${path.basename(dataDir)}.new-`))) {
    // One that still writes there makes this fail; the next initialisation tries again.
    await rm(path.join(path.dirname(dataDir), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

/** In single-user mode, which listens to nobody. */
async function setPassword({ programs, dataDir, passwordFile }: DataFolder): Promise<void> {
  const verifier = makeVerifier(await passwordBytes(passwordFile));
  const folder = await hand(dataDir, programs.owner);
  try {
    const statement = `alter role ${superuser} with login password '${verifier}'\n`;
    const said = await finish(
      programs.postgres,
      ['--single', '-D', folder.path, 'postgres'],
      programs.owner,
      folder,
      statement,
    );
    if (/\b(?:ERROR|FATAL):/.test(said)) throw new Error('PostgreSQL did not take the superuser’s new password');
  } finally {
    await folder.handle?.close();
  }
  await writeOwned(path.join(dataDir, verifierFile), `${verifier}\n`, programs.owner);
}

async function finish(
  program: string,
  args: readonly string[],
  owner: Owner | undefined,
  folder: Handed,
  input = '',
): Promise<string> {
  const child = spawn(program, args, {
    ...owner,
    cwd: '/',
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'pipe', folder.handle?.fd ?? 'ignore'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  child.stdin?.on('error', () => {
    // It ended before it read; its exit code says so below.
  });
  child.stdin?.end(input);
  await once(child, 'close');
  if (child.exitCode !== 0)
    throw new Error(`${path.basename(program)} failed: ${said.trim().split('\n').slice(-3).join(' ')}`);
  return said;
}

async function writeOwned(file: string, text: string, owner: Owner | undefined): Promise<void> {
  await writeWhole(file, text, 0o600);
  await own(file, owner);
}

async function own(file: string, owner: Owner | undefined): Promise<void> {
  if (owner !== undefined) await chown(file, owner.uid, owner.gid);
}
