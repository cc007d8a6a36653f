/**
 * The granter of Postgres (S8): a loop with no input but its directory. It may be killed at any point; whoever starts
 * next makes sure of everything on the server and goes on.
 */
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { programFolder, statusFile as statusBeside } from '../../domain/declaration/beside-grants.ts';
import type { GrantList } from '../../domain/declaration/declaration.ts';
import type { ProvisionName } from '../../domain/words/names.ts';
import { provisionName } from '../../domain/words/names.ts';
import { boundFacts } from '../bound-facts.ts';
import { keepFacts } from '../facts-on-bus.ts';
import { lookAt, type Directory } from './directory.ts';
import { createEntries, type Entries } from './entries.ts';
import { faultText, GrantFault } from './fault.ts';
import type { Provider } from './grant-access.ts';
import { ensureMarks, marksNamed } from './marks.ts';
import { createReconciler } from './reconcile.ts';
import { errorCode, openSession, type Server, type Session } from './session.ts';
import { statusFile } from './status-file.ts';

/** What the granter says to whoever runs it. A pino logger is one; no field and no text ever holds a secret's value (S5). */
export type Say = {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
};

export type ProvidePostgres = {
  /** Where the mesh writes the grant list and the credentials. */
  readonly directory: string;
  /** Where the granter writes what it knows; `<directory>.status.json` when not given. */
  readonly statusFile?: string | undefined;
  /** The superuser's password, alone in a file; read at each login, so it may change. */
  readonly passwordFile: string;
  readonly host: string;
  readonly port: number;
  readonly superuser?: string | undefined;
  /** The grace of a rotated login's sessions, milliseconds; the grant list says it when this does not. */
  readonly drainMs?: number | undefined;
  /** The prefix of the two roles that mark what this granter made; two meshes on one server need two. */
  readonly marker?: string | undefined;
  readonly signal: AbortSignal;
  readonly logger: Say;
  /** Called before each statement; throwing stops there. For tests that cut the work in two. */
  readonly beforeStatement?: Server['beforeStatement'];
};

// Less than the 250 ms that S8 allows, so that a look and its work fit into them.
const lookEveryMs = 150;
const firstBackoffMs = 100;
const lastBackoffMs = 2_000;

/**
 * Runs the granter until `signal` aborts; then it resolves. It never rejects for what the world does: a server that
 * cannot be reached, a list that cannot be read and a grant that cannot be made are faults in its status, tried again.
 */
export async function providePostgres(options: ProvidePostgres): Promise<void> {
  const { signal, logger } = options;
  const beside = path.resolve(options.directory);
  const status = statusFile(options.statusFile ?? statusBeside(beside));
  let last: GrantList | undefined;
  const entries = createEntries(
    status.before?.entries ?? [],
    (entry) => {
      const { login, generation, state, fault } = entry;
      if (fault === undefined) logger.info({ login, generation }, `the login is ${state}`);
      else logger.warn({ login, generation, fault }, 'the login has a fault');
      facts.changed();
    },
    Date.now,
  );
  const facts = keepFacts({
    folder: programFolder(beside),
    facts: () => last && boundFacts(last, entries.all()),
    say: { info: (fields, text) => logger.info(fields, text), warn: (fields, text) => logger.warn(fields, text) },
    signal,
  });
  const bell = createBell();
  const directory = lookAt(options.directory, bell.ring);
  const told = createTelling(logger);
  let provision: ProvisionName = status.before?.provision ?? provisionName.parse('postgres-database');
  let faultSince = status.before?.faultSince;
  const write = (fault?: string): void => {
    faultSince = fault === undefined ? undefined : (faultSince ?? new Date().toISOString());
    status.write(
      {
        schema: 'mesh.granter-status',
        version: 1,
        provision,
        entries: entries.all(),
        ...(fault === undefined ? {} : { fault }),
        ...(faultSince === undefined ? {} : { faultSince }),
      },
      Date.now(),
    );
  };
  let backoffMs = firstBackoffMs;
  try {
    while (!signal.aborted) {
      try {
        await work(options, { directory, entries, bell }, (list, fault) => {
          backoffMs = firstBackoffMs;
          provision = list?.provision ?? provision;
          if (list !== last) facts.changed();
          last = list;
          told.say(fault);
          write(fault);
        });
      } catch (error) {
        const read = directory.list();
        provision = 'list' in read ? read.list.provision : provision;
        const fault = connectionFault(error, options);
        told.say(fault);
        write(fault);
      }
      await rest(backoffMs, signal);
      backoffMs = Math.min(backoffMs * 2, lastBackoffMs);
    }
  } finally {
    directory.close();
    await facts.ended;
  }
}

type Kept = { readonly directory: Directory; readonly entries: Entries; readonly bell: Bell };

/** Works over one connection until it is lost (rejects) or the granter is told to end. */
async function work(
  options: ProvidePostgres,
  { directory, entries, bell }: Kept,
  report: (list: GrantList | undefined, fault: string | undefined) => void,
): Promise<void> {
  const { signal } = options;
  const marker = options.marker ?? 'mesh_granted';
  const server: Server = {
    host: options.host,
    port: options.port,
    superuser: options.superuser ?? 'postgres',
    passwordFile: options.passwordFile,
    beforeStatement: options.beforeStatement,
  };
  const main = await openSession(server, 'postgres', `mesh granter ${marker}`);
  try {
    await admit(main);
    const marks = marksNamed(marker);
    await ensureMarks(main, marks);
    const provider: Provider = { server, main, marks };
    let list: GrantList | undefined;
    let listDigest = '';
    let fault: string | undefined;
    const changed = (): void => report(list, fault);
    const reconciler = createReconciler({ provider, directory, entries, changed, nowMs: Date.now });
    while (!signal.aborted) {
      const heard = bell.next();
      const read = directory.list();
      fault = 'fault' in read ? read.fault : undefined;
      // A list that cannot be read takes nothing from anybody: what it said before stays granted.
      if ('list' in read) [list, listDigest] = [read.list, read.digest];
      if (list !== undefined) await reconciler.pass(list, listDigest, options.drainMs ?? list.drainMs);
      if (!main.isOpen()) throw new GrantFault('the connection to the server was lost');
      report(list, fault);
      await Promise.race([rest(lookEveryMs, signal), heard]);
    }
  } finally {
    await main.close();
  }
}

/** Makes sure that the server can do what is asked of it, and that no other granter with the same marks works there. */
async function admit(main: Session): Promise<void> {
  const [server] = await main.rows(
    z.strictObject({ version: z.int(), isSuperuser: z.boolean(), isOther: z.boolean() }),
    `select current_setting('server_version_num')::int as version, r.rolsuper as "isSuperuser",
            exists (select from pg_stat_activity a join pg_stat_activity me on me.pid = pg_backend_pid()
                     where a.usesysid = me.usesysid and a.application_name = me.application_name
                       and (a.backend_start, a.pid) < (me.backend_start, me.pid)) as "isOther"
       from pg_roles r where r.rolname = current_user`,
  );
  if (server === undefined || !server.isSuperuser)
    throw new GrantFault('the granter needs to be a superuser of its server');
  if (server.version < 170_000)
    throw new GrantFault(`the server is of version ${server.version}; login event triggers need PostgreSQL 17`);
  if (server.isOther) throw new GrantFault('another granter is at work on this server under the same name');
}

function connectionFault(error: unknown, { host, port, superuser, passwordFile }: ProvidePostgres): string {
  const code = errorCode(error);
  if (code === '28P01') {
    return `the server at ${host}:${port} refuses the password of ${superuser ?? 'postgres'} that stands in ${passwordFile}`;
  }
  if (error instanceof GrantFault) return error.message;
  return `the server at ${host}:${port}: ${faultText(error)}`;
}

/** Waits, and no longer than until the granter is told to end. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  // The rejection of an aborted wait says nothing that `signal` does not.
  await pause(ms, undefined, { signal }).catch(() => undefined);
}

type Bell = { readonly ring: () => void; next(): Promise<void> };

/** Wakes whoever waits for the next ring. A ring while nobody waits is not lost on the pass that reads afterwards. */
function createBell(): Bell {
  let wake = (): void => undefined;
  return {
    ring: () => wake(),
    next: () => new Promise((resolve) => (wake = resolve)),
  };
}

/** Says a fault when it comes and when it is over, not at every pass. */
function createTelling(logger: Say): { say(fault: string | undefined): void } {
  let said: string | undefined;
  return {
    say(fault) {
      if (fault === said) return;
      if (fault === undefined) logger.info({}, 'the granter is at work again');
      else logger.warn({ fault }, 'the granter cannot do its work');
      said = fault;
    },
  };
}
