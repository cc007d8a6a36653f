/** What a command on the controller's machine opens, each when it is first needed: the store, and Temporal. */
import type { Client } from '@temporalio/client';

import type { Foundation } from '../src/foundation/foundation.ts';
import type { ActRow } from '../src/operations/ports/act-rows.ts';
import type { Store } from '../src/store/store.ts';
import type { Context } from './context.ts';
import { problem, Stopped } from './problem.ts';

export type Controller = {
  readonly foundation: Foundation;
  readonly store: Store;
  /** Connects at the first call. */
  readonly temporal: () => Promise<Client>;
  /** The act's own record; undefined before its first step. */
  readonly readAct: (act: string) => Promise<ActRow | undefined>;
};

/** Runs `use` with the mesh of the state folder, and closes what was opened. Ends the command as `no-mesh` where there is none. */
export async function withController<T>(context: Context, use: (controller: Controller) => Promise<T>): Promise<T> {
  const { stateFolder, person } = context.settings;
  const foundation = await foundationAt(stateFolder);
  const { openStore } = await import('../src/store/store.ts');
  const store = openStore({ ...foundation.postgres, connections: 4 });
  let client: Promise<Client> | undefined;
  try {
    return await use({
      foundation,
      store,
      temporal: () => {
        client ??= import('./acts/temporal.ts').then(({ connectTemporal }) =>
          connectTemporal(foundation.temporal, person),
        );
        return client;
      },
      readAct: (act) => store.read((view) => view.actRow(act)),
    });
  } finally {
    await Promise.allSettled([client?.then(({ connection }) => connection.close()), store.close()]);
  }
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
