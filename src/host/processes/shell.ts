/**
 * Starting one process so that it outlives the host and is known to the next one (D13). A shell of a few lines says who
 * it is (pid, start time, the machine's start) under a name that can be taken only once, and then becomes the program.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, open, rename, stat } from 'node:fs/promises';
import { accountOf, presentAccount } from '../accounts.ts';
import { hasCode } from '../fault.ts';
import type { LaunchSpec } from './launch-spec.ts';
import { logFile, pidFile } from './record.ts';

/** What the shell ends with when it may not become the program. */
export const forbiddenExit = 125;

const script = `umask 022
pidfile=$1
shift
IFS= read -r stat < "/proc/$$/stat" || exit ${forbiddenExit}
read -r boot < /proc/sys/kernel/random/boot_id || exit ${forbiddenExit}
take() { shift 19; start=$1; }
take \${stat##*) }
printf '%s %s %s\\n' "$$" "$start" "$boot" > "$pidfile.$$" || exit ${forbiddenExit}
command -p ln "$pidfile.$$" "$pidfile"
taken=$?
command -p rm -f "$pidfile.$$"
[ "$taken" -eq 0 ] || exit ${forbiddenExit}
exec "$@"`;

/** Logs longer than this when a process is started are put aside as `.log.1` first. */
const logLimitBytes = 8 * 1024 * 1024;

/**
 * Makes ready a process's log: a long one is put aside first. Answers its length in bytes, which is where what the next
 * start says begins.
 */
export async function rotateLog(stateDir: string, key: string): Promise<number> {
  const file = logFile(stateDir, key);
  const size = await stat(file).then(
    (stats) => stats.size,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return 0;
      throw error;
    },
  );
  if (size <= logLimitBytes) return size;
  await rename(file, `${file}.1`);
  return 0;
}

/** Starts the process of a launch that is already on record. Throws when the machine cannot start it at all. */
export async function startShell(stateDir: string, spec: LaunchSpec, launch: string): Promise<ChildProcess> {
  // Without this the failure would name the shell, which is there.
  const isFolder = await stat(spec.cwd).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new Error(`its working directory ${spec.cwd} is not there`);
  const log = await open(logFile(stateDir, spec.key), 'a', 0o600);
  try {
    const command = [...(await asUser(spec.user)), ...spec.command];
    const child = spawn('/bin/sh', ['-c', script, 'sh', pidFile(stateDir, { key: spec.key, launch }), ...command], {
      cwd: spec.cwd,
      env: { ...spec.env },
      // A session and a process group of its own: no signal to the host's group reaches it, and one to its own ends all of it.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(child, 'spawn');
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

/**
 * What stands before the command to run it as another user: the shell itself must write in the host's folder, so it
 * changes over only when it becomes the program. `setpriv` replaces itself, so the pid stays.
 */
async function asUser(user: string | undefined): Promise<readonly string[]> {
  if (user === undefined || user === presentAccount().name) return [];
  const { uid, gid } = await accountOf(user);
  const setpriv = await firstExecutable(['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv']);
  if (setpriv === undefined)
    throw new Error(`it is to run as ${user}, for which the machine lacks the program setpriv (of util-linux)`);
  return [setpriv, `--reuid=${uid}`, `--regid=${gid}`, '--init-groups', '--'];
}

async function firstExecutable(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return undefined;
}
