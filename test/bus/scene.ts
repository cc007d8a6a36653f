/**
 * A mesh with a victim and an attacker, and the way in which every attack is judged: by the bytes that the mesh keeps of
 * the victim, once all that the attack could cause has come.
 */
import { nodeAccount, type AccountShape } from '../../src/bus/accounts.ts';
import { openBucket, type Bucket } from '../../src/bus/buckets.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { publishDeclaration } from '../../src/bus/declarations.ts';
import { publishReport } from '../../src/bus/reports.ts';
import { ensureBucket, ensureStreams } from '../../src/bus/streams.ts';
import {
  declareSubject,
  getSubject,
  lastDeclarationSubject,
  putSubject,
  reportsStream,
  reportSubject,
} from '../../src/bus/subjects.ts';
import { nodeName, partName } from '../../src/domain/words/names.ts';
import { envelopeOf, reportOf } from './messages.ts';
import { startBus, type TestBus } from './server.ts';

export const bucket = 'mesh-provisioner_needs';
export const attacker = nodeName.parse('attacker');
export const victim = nodeName.parse('victim');
export const seat = partName.parse('mesh-provisioner');
export const secretEnvelope = envelopeOf(victim, 1, 'a secret body');
export const victimKey = `${victim}.web.config.a`;

export type Scene = {
  readonly bus: TestBus;
  readonly meshBucket: Bucket;
  readonly victimShape: AccountShape;
  readonly attackerShape: AccountShape;
  /** Every byte that the mesh keeps of the victim, with its sequence and how many there are. */
  stored(): Promise<Readonly<Record<string, string>>>;
  /** Sends as `sends` says, allowed or not, and waits until all that could come of it has come. */
  attack(connection: BusConnection, sends: (connection: BusConnection) => void): Promise<void>;
};

export async function stageScene(): Promise<Scene> {
  const bus = await startBus();
  await ensureStreams(bus.mesh);
  await ensureBucket(bus.mesh, bucket);
  const by = { meshAccount: bus.identity.accounts.mesh, buckets: [{ bucket, writes: true }] };
  const victimShape = nodeAccount(victim, by);
  await publishDeclaration(bus.mesh, secretEnvelope, 0);
  await publishDeclaration(bus.mesh, envelopeOf(attacker, 1), 0);
  const victims = await bus.connect('victim', (await bus.account(victimShape)).credential);
  await (await openBucket(victims, bucket)).put(victimKey, 'a secret need');
  await publishReport(victims, reportOf(victim, 1));
  return {
    bus,
    meshBucket: await openBucket(bus.mesh, bucket),
    victimShape,
    attackerShape: nodeAccount(attacker, by),
    stored: () => storedOf(bus),
    attack: (connection, sends) => attackBy(bus, connection, sends),
  };
}

/** Every byte that the mesh keeps of the victim, with its sequence: whatever reached any of it shows here. */
async function storedOf(bus: TestBus): Promise<Record<string, string>> {
  const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
  const found: Record<string, string> = {};
  for (const [stream, subject] of [
    ['MESH_DECLARATIONS', declareSubject(victim)],
    [reportsStream, reportSubject(victim)],
    [`KV_${bucket}`, putSubject(bucket, victimKey)],
  ] as const) {
    const message = await manager.streams.getMessage(stream, { last_by_subj: subject });
    const count = (await manager.streams.info(stream, { subjects_filter: subject })).state.subjects?.[subject];
    found[subject] = `${message.seq} ${count} ${message.string()}`;
  }
  return found;
}

/**
 * An honest request by each of the
 * same ways is answered after the forged ones, and a write of MESH to each stream lands after whatever they caused.
 */
async function attackBy(
  bus: TestBus,
  connection: BusConnection,
  sends: (connection: BusConnection) => void,
): Promise<void> {
  sends(connection);
  const own = [
    { subject: lastDeclarationSubject(attacker), body: '' },
    { subject: getSubject(bucket, `${attacker}.web.config.a`), body: '' },
    { subject: putSubject(bucket, `${attacker}.web.config.a`), body: 'mine' },
    { subject: reportSubject(attacker), body: 'mine' },
  ];
  for (const { subject, body } of own) await connection.nats.request(subject, body, { timeout: 5_000 });
  const stream = bus.mesh.nats.jetstream({ checkAPI: false });
  for (const subject of [declareSubject('*'), reportSubject('*'), putSubject(bucket, '*')]) {
    await stream.publish(subject.replace('*', 'barrier'), 'barrier');
  }
}
