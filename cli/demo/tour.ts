/**
 * The tour (U14): what a person would type, typed by a program, on a mesh of its own. It checks what it shows: a summary
 * is made of what was measured, and a step that does not do what it says ends the demo.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { rotationResult } from '../../src/domain/act/act.ts';
import { localNodeFolder, localNodeRoot, nodeStateFolder } from '../node-folders.ts';
import { during, logInAgainAndAgain, tally } from './login-attempts.ts';
import { tryLogin, type Credential } from './try-login.ts';
import { watchMemory } from './memory.ts';
import { askByName, assignProxy, compileAgain, publicDomain, shownNode, type Route } from './routed-names.ts';
import type { Shell } from './shell.ts';
import { within } from './within.ts';

const examples = fileURLToPath(new URL('../../../examples/', import.meta.url));
/** So many logins before a rotation begins, and after it ended. */
const attemptsAround = 60;

export type Summary = {
  readonly nodes: number;
  readonly current: number;
  readonly rotation: {
    readonly act: string;
    readonly committed: boolean;
    readonly oldRefused: boolean;
    readonly newWorks: boolean;
    readonly attempts: number;
    readonly attemptsDuringOverlap: number;
    readonly failedLogins: number;
    readonly brokenSessions: number;
    readonly windowMs: number;
  };
  readonly passwordForm: { readonly windowMs: number; readonly failedLogins: number; readonly attempts: number };
  readonly hostKilled: { readonly processesKeptTheirPids: boolean; readonly currentAgain: boolean };
  /** The kinds of placeholder that are answered, and what compiling the registry a second time wrote. */
  readonly registry: { readonly kinds: number; readonly writesSecondCompile: number };
  /** What asking for notes by its routed name came to; or why there is no web server to ask. */
  readonly route: Route | { readonly absent: string };
  readonly temporalUi: string;
  readonly startedMs: number;
  readonly totalMs: number;
  readonly peakMiB: number;
};

const act = z.object({ detail: z.object({ result: rotationResult }) });
const status = z.object({
  temporalUi: z.string(),
  nodes: z.array(
    z.object({ node: z.string(), told: z.string(), report: z.string().optional(), outcome: z.string().optional() }),
  ),
});
type NodeStatus = z.infer<typeof status>['nodes'][number];
/** D23: all is well only when all three facts are good. */
const isWell = ({ told, report, outcome }: NodeStatus): boolean =>
  told === 'same' && report === 'current' && outcome === 'applied';

/** Walks through it. `say` is told what happens between the commands. Errors: a step did not do what it says. */
export async function walk(shell: Shell, stateFolder: string, say: (line: string) => void): Promise<Summary> {
  const startedAt = performance.now();
  const memory = watchMemory(stateFolder, 1000);
  try {
    say(
      'A store, a bus and Temporal on this machine, a controller, and three nodes: each a process with its own folder and account.',
    );
    await shell.show(['up', '--nodes', '3']);
    const startedMs = Math.round(performance.now() - startedAt);

    say(
      'Four programs: a database server, two that need a database from it, and a web server in front of routed names.',
    );
    for (const module of ['postgres', 'notes', 'ledger', 'proxy'])
      await shell.show(['module', 'add', path.join(examples, module)]);
    await shell.show(['node', 'set', 'beta', `public-domain=${publicDomain}`]);
    await shell.show(['assign', 'alpha', 'postgres']);
    await shell.show(['assign', 'beta', 'notes']);
    await shell.show(['assign', 'gamma', 'ledger']);
    const noProxy = await assignProxy(shell, say);
    await shell.show(['plan', 'beta']);
    say('The push makes the credentials, seals them to the nodes that need them, and ends when every node reported.');
    await shell.show(['push']);

    const { address, ports } = shownNode.parse(await shell.ask(['node', 'show', 'beta']));
    const url = `http://${address}:${ports.find(({ module }) => module === 'notes')?.port ?? 0}`;
    await keepANote(url, say);
    const route = noProxy === undefined ? await askByName(shell, say) : { absent: noProxy };

    const rotation = await rotateUnderLoad(shell, stateFolder, say);
    const passwordForm = await rotatePasswordForm(shell, stateFolder, say);
    const hostKilled = await killAHost(shell, stateFolder, say);
    const registry = await compileAgain(shell, say);
    await keepANote(url, say);

    await shell.show(['status']);
    await shell.show(['acts']);
    const after = status.parse(await shell.ask(['status'], [0, 6]));
    return {
      nodes: after.nodes.length,
      current: after.nodes.filter(isWell).length,
      rotation,
      passwordForm,
      hostKilled,
      registry,
      route,
      temporalUi: after.temporalUi,
      startedMs,
      totalMs: Math.round(performance.now() - startedAt),
      peakMiB: await memory.stop(),
    };
  } finally {
    await memory.stop();
  }
}

/** Uses the web application as a person would, until its database is there. */
async function keepANote(url: string, say: (line: string) => void): Promise<void> {
  const text = 'the mesh cannot read the password this was written with';
  await within(20_000, 'notes to keep a note', async () => {
    const kept = await fetch(`${url}/notes`, {
      method: 'POST',
      body: new URLSearchParams({ text }),
      redirect: 'manual',
    }).catch(() => undefined);
    return kept?.status === 303;
  });
  const page = await (await fetch(url)).text();
  say(`notes answers at ${url} and ${page.includes(text) ? 'keeps what it is given' : 'has lost a note'}.`);
}

/** notes has the whole address in one file, filled in on its node. */
const notesFiles = (stateFolder: string) => ({
  url: path.join(localNodeRoot(stateFolder, 'beta'), 'etc/notes/database.url'),
});
/** ledger has the password alone, and the readable facts beside it. */
const ledgerFiles = (stateFolder: string) => {
  const folder = path.join(localNodeRoot(stateFolder, 'gamma'), 'etc/ledger');
  return { credential: path.join(folder, 'database.password'), facts: path.join(folder, 'database-facts.json') };
};

const rotationOf = (node: string, module: string): string => `rotate/alpha/postgres-database/${node}/${module}`;

async function rotate(shell: Shell, node: string, module: string): Promise<z.infer<typeof rotationResult>> {
  await shell.show(['secret', 'rotate', `${node}/${module}`]);
  return act.parse(await shell.ask(['act', 'show', rotationOf(node, module)])).detail.result;
}

async function rotateUnderLoad(
  shell: Shell,
  stateFolder: string,
  say: (line: string) => void,
): Promise<Summary['rotation']> {
  say('A rotation, while a separate program reads the file anew and logs in, again and again.');
  const files = notesFiles(stateFolder);
  const old = await credentialIn(files.url);
  const load = logInAgainAndAgain(files);
  await within(30_000, 'logins before the rotation', async () => load.attempts.length >= attemptsAround);
  const result = await rotate(shell, 'beta', 'notes');
  const soFar = load.attempts.length;
  await within(30_000, 'logins after the rotation', async () => load.attempts.length >= soFar + attemptsAround);
  const attempts = await load.stop();
  const fresh = await credentialIn(files.url);
  const [withOld, withNew] = [await tryLogin(old), await tryLogin(fresh)];
  const { failed } = tally(attempts);
  say(
    `${attempts.length} logins, ${failed} failed. The old credential: ${withOld ?? 'still works'}. The new one: ${withNew ?? 'works'}.`,
  );
  return {
    act: rotationOf('beta', 'notes'),
    committed: result.committed,
    oldRefused: withOld !== undefined && withOld.startsWith('28'),
    newWorks: withNew === undefined && fresh.user !== old.user,
    attempts: attempts.length,
    attemptsDuringOverlap: during(attempts, result.overlapFrom, result.overlapUntil),
    failedLogins: failed,
    brokenSessions: result.sessionsEnded,
    windowMs: result.windowMs,
  };
}

async function rotatePasswordForm(
  shell: Shell,
  stateFolder: string,
  say: (line: string) => void,
): Promise<Summary['passwordForm']> {
  say(
    'A program that takes the password alone keeps its login, so its two ends change one after the other: the window is measured.',
  );
  const load = logInAgainAndAgain(ledgerFiles(stateFolder));
  await within(30_000, 'logins before the rotation', async () => load.attempts.length >= attemptsAround);
  const result = await rotate(shell, 'gamma', 'ledger');
  const soFar = load.attempts.length;
  await within(30_000, 'logins after the rotation', async () => load.attempts.length >= soFar + attemptsAround);
  const attempts = await load.stop();
  const { failed, windowMs } = tally(attempts);
  say(
    `Window as the mesh saw it: at most ${result.windowMs} ms; as a login saw it: ${windowMs} ms, ${failed} of ${attempts.length} failed.`,
  );
  return { windowMs: result.windowMs, failedLogins: failed, attempts: attempts.length };
}

async function killAHost(
  shell: Shell,
  stateFolder: string,
  say: (line: string) => void,
): Promise<Summary['hostKilled']> {
  say('The host of beta is killed (SIGKILL). What it started goes on; the next host adopts it.');
  const state = nodeStateFolder(localNodeFolder(stateFolder, 'beta'));
  const before = await pidsIn(state);
  const host = Number((await readFile(path.join(stateFolder, 'run', 'host-beta.pid'), 'utf8')).split(/\s/)[0]);
  process.kill(host, 'SIGKILL');
  await within(10_000, 'the host to be gone', async () => !isThere(host));
  await shell.show(['up', '--nodes', '3']);
  await within(30_000, 'beta to be current again', async () => {
    const { nodes } = status.parse(await shell.ask(['status'], [0, 6]));
    return nodes.some((one) => one.node === 'beta' && isWell(one));
  });
  const after = await pidsIn(state);
  const kept = before.length > 0 && before.join() === after.join() && before.every((pid) => isThere(Number(pid)));
  say(
    `beta is current again; its processes ${kept ? `kept their pids (${before.join(', ')})` : 'did not keep their pids'}.`,
  );
  return { processesKeptTheirPids: kept, currentAgain: true };
}

/** The processes that a host keeps, by the pid files that they wrote themselves. */
async function pidsIn(nodeState: string): Promise<readonly string[]> {
  const folder = path.join(nodeState, 'processes');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.pid')).toSorted();
  return Promise.all(files.map(async (name) => (await readFile(path.join(folder, name), 'utf8')).split(/\s/)[0] ?? ''));
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function credentialIn(urlFile: string): Promise<Credential> {
  const { hostname, port, pathname, username, password } = new URL(await readFile(urlFile, 'utf8'));
  const [database, user, secret] = [pathname.slice(1), username, password].map(decodeURIComponent);
  return { host: hostname, port: Number(port), database: database ?? '', user: user ?? '', password: secret ?? '' };
}
