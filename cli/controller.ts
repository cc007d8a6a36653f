/** What a command on the controller's machine opens, each when it is first needed: the store, and Temporal. */
import type { Client } from '@temporalio/client';

import type { Foundation } from '../src/foundation/foundation.ts';
import type { ActRow } from '../src/operations/ports/act-rows.ts';
import type { Store } from '../src/store/store.ts';
import type { Context } from './context.ts';
import { problem, Stopped, type Problem } from './problem.ts';

export type Controller = {
  readonly foundation: Foundation;
  readonly store: Store;
  /** Who asks. */
  readonly person: string;
  /** Connects at the first call. */
  readonly temporal: () => Promise<Client>;
  /** The act's own record; undefined before its first step. */
  readonly readAct: (act: string) => Promise<ActRow | undefined>;
  /** Why the store takes no changes, where it does not: for when something does not go through. */
  readonly refusesWrites: () => Promise<Problem | undefined>;
};

/** Longer than a login, and than any question of a command, takes on a busy machine: after that it is the server. */
const within = { connectMs: 5_000, answerMs: 15_000 };

/**
 * Runs `use` with the mesh of the state folder, and closes what was opened. Ends the command as `no-mesh` where there is none, and as
 * `store-down` where the store does not answer or takes no writes.
 */
export async function withController<T>(context: Context, use: (controller: Controller) => Promise<T>): Promise<T> {
  const { stateFolder, person } = context.settings;
  const foundation = await foundationAt(stateFolder);
  const { openStore } = await import('../src/store/store.ts');
  const { refusesWrites, sayingStore } = await import('./store-fault.ts');
  const opened = openStore({ ...foundation.postgres, connections: 4, within });
  const store = sayingStore(opened, foundation.postgres);
  let client: Promise<Client> | undefined;
  try {
    return await use({
      foundation,
      store,
      person,
      temporal: () => {
        client ??= import('./acts/temporal.ts').then(({ connectTemporal }) =>
          connectTemporal(foundation.temporal, person),
        );
        return client;
      },
      readAct: (act) => store.read((view) => view.actRow(act)),
      refusesWrites: () => refusesWrites(store, person),
    });
  } catch (fault) {
    throw (await otherVersion(foundation, fault)) ?? fault;
  } finally {
    await Promise.allSettled([client?.then(({ connection }) => connection.close()), store.close()]);
  }
}

/** Which side is the older one, where the store did not take what this version asked it for (C94). */
async function otherVersion({ postgres }: Foundation, fault: unknown): Promise<Stopped | undefined> {
  if (!isOfTheStore(fault)) return undefined;
  const { storeStanding } = await import('../src/store/migrate.ts');
  // Where that cannot be asked either, what happened first is what is said.
  const apart = await storeStanding(postgres, { withinMs: within.connectMs }).catch(() => undefined);
  if (apart === undefined) return undefined;
  const { newer, missing } = apart;
  if (newer.length > 0)
    return new Stopped(
      problem('other-version', {
        what: `this mesh command is older than its store, which has ${newer.join(', ')}`,
        why: 'the store was brought forward by a newer version, and this one does not know what it holds',
        next: ['run the newer version of mesh'],
        facts: { older: 'command', migrations: newer },
      }),
    );
  if (missing.length === 0) return undefined;
  return new Stopped(
    problem('other-version', {
      what: `the store is older than this mesh command: it has not had ${missing.join(', ')}`,
      why: 'the store is brought forward when the mesh is raised',
      next: ['mesh up'],
      facts: { older: 'store', migrations: missing },
    }),
  );
}

/** Whether the store's server itself complained, here or beneath: by an SQLSTATE. */
function isOfTheStore(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false;
  const code = 'code' in fault ? fault.code : undefined;
  return (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) || isOfTheStore(fault.cause);
}

/** The mesh that was raised in this state folder. Ends the command as `no-mesh` where there is none. */
export async function foundationAt(stateFolder: string): Promise<Foundation> {
  const { readFoundation } = await import('../src/foundation/foundation.ts');
  const foundation = await readFoundation(stateFolder);
  if (foundation !== undefined) return foundation;
  throw new Stopped(
    problem('no-mesh', {
      what: `no mesh was raised in ${stateFolder}`,
      why: 'this command asks the mesh whose state that folder holds',
      next: ['mesh up', 'mesh --state DIR …   # or MESH_STATE, for a mesh that is kept elsewhere'],
      facts: { state: stateFolder },
    }),
  );
}
