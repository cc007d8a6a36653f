/** Pushing as a command, start-up and the act's orchestration included; the floor is a command as well. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { meshCredential } from '../../src/bus/identity.ts';
import { controllerKeysAt } from '../../src/foundation/controller-keys.ts';
import { connectionOf } from '../../src/store/address.ts';
import { alternately, loadNow, type Work } from '../measure.ts';
import { meshCommand, type RaisedMesh } from '../raised-mesh.ts';
import { run } from '../run-program.ts';
import type { Server } from '../servers.ts';
import { targeted, type Row } from '../table.ts';
import type { VirtualNodes } from '../virtual-nodes.ts';
import { addWritten } from '../world.ts';
import { nodes, playSites, site } from './push.ts';

const floorProgram = fileURLToPath(new URL('../programs/floor-push.mjs', import.meta.url));

export async function pushCommandRows(mesh: RaisedMesh, servers: readonly Server[]): Promise<readonly Row[]> {
  const played = await playSites(mesh);
  await mesh.pg.query(
    'create schema if not exists floor; create table if not exists floor.pushed (node text primary key, digest text)',
  );
  const settings = await settingsFile(mesh, played);
  const rows: Row[] = [];
  try {
    for (const server of servers) {
      const stop = await mesh.startController(server.address);
      try {
        rows.push(...(await onServer(mesh, server, settings)));
      } finally {
        await stop();
      }
    }
  } finally {
    await played.stop();
  }
  return rows;
}

async function onServer(mesh: RaisedMesh, { name, address }: Server, settings: string): Promise<readonly Row[]> {
  const push = async (): Promise<void> => void (await run([meshCommand, 'push', '--json', '--state', mesh.stateDir]));
  const floor = async (value: string): Promise<void> => void (await run([floorProgram, settings, value]));
  const changed: Work = async (round) => {
    await addWritten(mesh, site(`command ${name} ${round}`));
    const began = performance.now();
    await push();
    return performance.now() - began;
  };
  const rounds = { rounds: 9, warm: 1 };
  const noop = await alternately({ floor: () => floor('same'), product: push }, rounds);
  const load = loadNow();
  const value = await alternately({ floor: (round) => floor(`${name} ${round}`), product: changed }, rounds);
  const has = (times: number, of: typeof noop): Pick<Row, 'target'> =>
    address === undefined ? {} : targeted(times, of);
  return [
    { work: `mesh push of ${nodes} nodes, nothing changed, on ${name}`, unit: 'ms', ...noop, load, ...has(2, noop) },
    {
      work: `mesh push of ${nodes} nodes, one value changed, on ${name}`,
      unit: 'ms',
      ...value,
      load: loadNow(),
      ...has(2.5, value),
    },
  ];
}

/** What the floor's command connects with; readable by its owner alone, in a folder that goes with the bench. */
async function settingsFile({ stateDir, foundation }: RaisedMesh, played: VirtualNodes): Promise<string> {
  const { jwt, seed, inbox } = await meshCredential((await controllerKeysAt(stateDir)).bus);
  const { password, ...database } = connectionOf(foundation.postgres);
  if (typeof password !== 'function') throw new Error('no password file');
  const file = path.join(stateDir, 'floor-push.json');
  const settings = {
    servers: [foundation.nats.url],
    jwt,
    seed: seed.reveal((text) => new TextDecoder().decode(text)),
    inbox,
    database: { ...database, password: await password() },
    nodes: played.names,
  };
  await writeFile(file, JSON.stringify(settings), { mode: 0o600 });
  return file;
}
