/**
 * Rotating 1, 10 and 50 credentials of one provider in one act: from the request until both ends of each have the new one.
 * The withdrawal comes after, when its consumers were seen; it takes what it takes and is not counted here.
 */
import { Client, Connection } from '@temporalio/client';
import {
  controllerQueue,
  meshNamespace,
  rotationId,
  rotationSelection,
  type RotationRequest,
} from '../../src/domain/act/act.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { until } from '../../test/support/until.ts';
import { floorRotation, type FloorRotation } from '../floor/rotation.ts';
import { inActivity } from '../in-activity.ts';
import { alternately, loadNow, type Summary } from '../measure.ts';
import type { RaisedMesh } from '../raised-mesh.ts';
import type { Server } from '../servers.ts';
import { atMost, type Row } from '../table.ts';
import { playNodes, type VirtualNodes } from '../virtual-nodes.ts';
import { nodeAt } from '../wide-mesh.ts';
import { addWritten } from '../world.ts';
import { pusher } from './push.ts';

const most = 50;
const counts = [1, 10, most];
const provider = 'provider';
const consumers = Array.from({ length: most }, (_, index) => nodeAt(index));

export async function rotateRows(
  mesh: RaisedMesh,
  servers: readonly Server[],
  note: (line: string) => void,
): Promise<readonly Row[]> {
  await mesh.clear();
  const played = await playNodes(mesh, [provider, ...consumers], 'ends');
  await addWritten(mesh, {
    module: 'postgres',
    version: '1.0.0',
    provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
    listens: { sql: 5432 },
    resources: [{ kind: 'directory', path: '/var/lib/postgres', unknown: 'program' }],
  });
  await addWritten(mesh, {
    module: 'notes',
    version: '1.0.0',
    requires: ['postgres-database'],
    secrets: { 'postgres-database': { file: '/etc/notes/db', as: 'json' } },
    resources: [{ kind: 'directory', path: '/etc/notes', unknown: 'program' }],
  });
  await mesh.pg.query(`
    insert into mesh.assignments (node, module) select node, case when node = '${provider}' then 'postgres' else 'notes' end from mesh.nodes;
    insert into mesh.bindings (node, module, provision, provider_node, provider_module)
      select node, 'notes', 'postgres-database', '${provider}', 'postgres' from mesh.nodes where node <> '${provider}';
    insert into mesh.ports (node, module, listens, protocol, port, fixed) values ('${provider}', 'postgres', 'sql', 'tcp', 25432, false);
    analyze`);
  const floor = await floorRotation(mesh, provider, consumers);
  const rows: Row[] = [];
  try {
    const stopTaking = mesh.takeReports();
    await pusher(mesh)();
    rows.push(...(await table('its steps in a running process', { ofFloor: 2 }, floor, stepper(mesh))));
    await stopTaking();
    for (const server of servers) rows.push(...(await onServer(mesh, played, floor, server, note)));
  } finally {
    await played.stop();
  }
  return rows;
}

/** Rotates that many, and answers how long it took until both ends had it, ms; whatever comes after is done by then. */
type Rotate = (count: number) => Promise<number>;

/**
 * At most so many times the floor; and 50 at most so many times 1, which is asked of the act as a whole: for its steps alone the
 * two exclude each other, since the floor itself takes more than five times as long for 50.
 */
type Targets = { readonly ofFloor?: number; readonly ofOne?: number };

async function table(
  how: string,
  { ofFloor, ofOne }: Targets,
  floor: FloorRotation,
  rotate: Rotate,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const products: Summary[] = [];
  for (const count of counts) {
    const measured = await alternately(
      { floor: () => floor.rotate(consumers.slice(0, count)), product: () => rotate(count) },
      { rounds: 7, warm: 1 },
    );
    const target = ofFloor === undefined ? undefined : atMost(ofFloor, measured);
    rows.push({
      work: `rotate ${count} in one act, ${how}`,
      unit: 'ms',
      ...measured,
      load: loadNow(),
      ...(target && { target }),
    });
    products.push(measured.product);
  }
  const [one, , fifty] = products;
  if (one === undefined || fifty === undefined) return rows;
  const target =
    ofOne === undefined ? undefined : { says: `≤ ${ofOne}× the product’s 1`, met: fifty.p50 <= ofOne * one.p50 };
  return [
    ...rows,
    {
      work: `rotate 50, ${how}; floor: the product with 1`,
      unit: 'ms',
      floor: one,
      product: fifty,
      load: loadNow(),
      ...(target && { target }),
    },
  ];
}

const requestOf = (count: number): RotationRequest => ({
  person: 'ada',
  selection: rotationSelection.parse({
    of: 'pairs',
    pairs: consumers.slice(0, count).map((consumerNode) => ({
      provision: 'postgres-database',
      providerNode: provider,
      providerModule: 'postgres',
      consumerNode,
      consumerModule: 'notes',
    })),
  }),
});

function stepper({ steps }: RaisedMesh): Rotate {
  let number = 0;
  return async (count) => {
    const act = `bench-rotation-${(number += 1)}`;
    const request = requestOf(count);
    const began = performance.now();
    await inActivity(() => steps.prepareRotation(act, rotationId(request.selection, sha256Hex), 'bench', request));
    await inActivity(() => steps.commitRotation(act));
    await inActivity(() => steps.tellProviders(act));
    await inActivity(() => steps.tellConsumers(act));
    const took = performance.now() - began;
    await inActivity(() => steps.awaitUse(act, undefined));
    await inActivity(() => steps.withdrawOld(act));
    await inActivity(() => steps.closeRotation(act));
    return took;
  };
}

async function onServer(
  mesh: RaisedMesh,
  played: VirtualNodes,
  floor: FloorRotation,
  server: Server,
  note: (line: string) => void,
): Promise<readonly Row[]> {
  const address = server.address ?? mesh.foundation.temporal.address;
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace: meshNamespace });
  const stop = await mesh.startController(server.address);
  const activities = new Map<number, number>();
  try {
    const rotate: Rotate = async (count) => {
      const request = requestOf(count);
      const chosen = played.names.filter((name) => consumers.slice(0, count).includes(name));
      const began = performance.timeOrigin + performance.now();
      const handle = await client.workflow.start('rotateCredential', {
        taskQueue: controllerQueue,
        workflowId: rotationId(request.selection, sha256Hex),
        args: [request],
      });
      let last = 0;
      const isThere = async (): Promise<boolean> => {
        const reports = await played.lastReports();
        const reported = chosen.map((name) => reports.get(name) ?? 0);
        last = Math.max(...reported);
        return reported.every((at) => at > began);
      };
      await until(isThere, { withinMs: 60_000, what: 'both ends' });
      const took = last - began;
      await handle.result();
      const { events } = await handle.fetchHistory();
      activities.set(count, (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes).length);
      return took;
    };
    const targets = { ofOne: 2.5, ...(server.address !== undefined && { ofFloor: 2 }) };
    const rows = await table(`on ${server.name}`, targets, floor, rotate);
    const numbers = [...activities.values()];
    if (new Set(numbers).size !== 1)
      throw new Error(`the number of activities differs: ${JSON.stringify([...activities])}`);
    note(`a rotation of 1, 10 and 50 is ${numbers[0]} activities each on ${server.name}`);
    return rows;
  } finally {
    await stop();
    await connection.close();
  }
}
