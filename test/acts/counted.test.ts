/** What acts write, say and schedule, counted: none of it grows with what did not change, or with how many are touched. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { connectBus, type BusConnection } from '../../src/bus/connection.ts';
import { meshCredential } from '../../src/bus/identity.ts';
import { pushId, rotationId, rotationSelection } from '../../src/domain/act/act.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { connectionOf } from '../../src/store/address.ts';
import { until } from '../support/until.ts';
import { writtenBy } from '../support/written-by.ts';
import { raiseActingMesh, type ActingMesh } from './acting-mesh.ts';
import { addAll, consumerModule, databaseModule, place } from './catalogue.ts';
import type { PlayedNode } from './played-node.ts';

let mesh: ActingMesh;
let bus: BusConnection;
let client: pg.Client;
let alpha: PlayedNode;
let others: readonly PlayedNode[];

beforeAll(async () => {
  mesh = await raiseActingMesh();
  await mesh.startController();
  alpha = await mesh.join('alpha');
  others = [await mesh.join('beta'), await mesh.join('gamma'), await mesh.join('delta')];
  await addAll(mesh.store, [databaseModule, consumerModule('notes', 'json'), motd('hello')]);
  await place(mesh.store, alpha.node, 'postgres');
  for (const { node } of others) await place(mesh.store, node, 'notes');
  for (const node of [alpha, ...others]) node.behave();
  bus = await connectBus({
    servers: [mesh.foundation.nats.url],
    name: 'counting',
    credential: await meshCredential(mesh.keys.bus),
  });
  client = new pg.Client(connectionOf(mesh.foundation.postgres));
  await client.connect();
  await push();
}, 180_000);
afterAll(async () => {
  await client.end();
  await bus.close();
  await mesh.close();
}, 60_000);

const motd = (content: string) => ({
  module: 'motd',
  version: '1.0.0',
  resources: [{ kind: 'file', path: '/etc/motd', content }],
});

async function push(nodes?: readonly NodeName[]): Promise<number> {
  const request = { person: 'ada', ...(nodes && { nodes }) };
  const handle = await mesh.start('pushNodes', pushId(nodes, sha256Hex), request);
  await handle.result();
  return activitiesOf(handle);
}

/** What was done before is in the mirrors, and the nodes that were told have answered: what is counted now is the act's own. */
async function mirrored(): Promise<void> {
  const now = `select (select count(*) from mesh.events where relayed_at is null)::int as unrelayed,
                      (select coalesce(sum(sequence), 0) from mesh.reports)::int as reports`;
  let before: unknown;
  const isQuiet = async (): Promise<boolean> => {
    // Longer than a node takes to answer.
    await pause(300);
    const [row] = await mesh.ask(now);
    const isSame = row?.['unrelayed'] === 0 && row['reports'] === before;
    before = row?.['reports'];
    return isSame;
  };
  await until(isQuiet, { withinMs: 20_000, what: 'the mirrors and the nodes to be quiet' });
}

async function rotate(consumers: readonly PlayedNode[]): Promise<number> {
  const pairs = consumers.map(({ node }) => ({
    provision: 'postgres-database',
    providerNode: alpha.node,
    providerModule: 'postgres',
    consumerNode: node,
    consumerModule: 'notes',
  }));
  const selection = rotationSelection.parse({ of: 'pairs', pairs });
  const handle = await mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada' });
  await handle.result();
  return activitiesOf(handle);
}

async function activitiesOf(handle: Awaited<ReturnType<ActingMesh['start']>>): Promise<number> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes).length;
}

describe('what a push writes and says', () => {
  test('[D7] when nothing changed: its own record, and not one row or message more', async () => {
    expect(await writtenBy({ pg: client, bus }, () => push())).toEqual({ rows: { acts: 1, events: 2 }, messages: {} });
  });

  test('[D7] when one node changed: one message to it, one record of it, and what it answers', async () => {
    await place(mesh.store, (others[0] ?? alpha).node, 'motd');
    await mirrored();
    expect(await writtenBy({ pg: client, bus }, () => push())).toEqual({
      rows: { acts: 1, events: 4, sent_declarations: 1, reports: 1 },
      messages: { 'mesh.declare': 1, 'mesh.changed': 1, 'mesh.report': 1, 'mesh.reported': 1 },
    });
  });
});

describe('how many steps an act has', () => {
  test('[A11] a push has as many for one node as for all: one where nothing changed, three where something did', async () => {
    const changed: number[] = [];
    for (const nodes of [[(others[0] ?? alpha).node], undefined]) {
      await addAll(mesh.store, [motd(`changed for ${nodes?.length ?? 'all'}`)]);
      changed.push(await push(nodes));
    }
    expect({ changed, unchanged: [await push([alpha.node]), await push()] }).toEqual({
      changed: [3, 3],
      unchanged: [1, 1],
    });
  });

  test('[A11] [A1.1] a rotation has as many for one credential as for every one, and at most eight', async () => {
    const one = await rotate(others.slice(0, 1));
    expect(await rotate(others)).toBe(one);
    expect(one).toBeLessThanOrEqual(8);
  }, 60_000);
});
