import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  enrolmentRecords,
  keyHolder,
  proveNode,
  readEnrolment,
  recordEnrolment,
} from '../../src/operations/node/enrol.ts';
import { inviteNode, nodeByName } from '../../src/operations/node/invite-node.ts';
import { accepted, join, node, raiseWorlds, refused, type World, type Worlds } from './world.ts';

let worlds: Worlds;
let world: World;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());
beforeEach(async () => {
  world = await worlds.make();
});

const invite = (tokenId: string, name = 'alpha', forMs = 60_000) =>
  inviteNode(world.store, 'ada', {
    node: node(name),
    tokenId,
    userKey: `U${tokenId}`,
    expiresAt: new Date(Date.now() + forMs),
  });
const keys = (with_: Partial<Parameters<typeof recordEnrolment>[2]> = {}) => ({
  identityKey: 'UIDENTITY',
  sealingKey: new Uint8Array(Buffer.alloc(32, 7)),
  sealingFingerprint: 'f7',
  overlayKey: Buffer.alloc(32, 9).toString('base64'),
  address: '127.0.0.2',
  ...with_,
});
const challenge = () => {
  const value = randomBytes(32);
  return new Uint8Array(createHash('sha256').update(value).digest());
};

test('[U16] a node is invited, proves its keys, is admitted, and its token is closed', async () => {
  const { store } = world;
  accepted(await invite('t1'));
  expect(accepted(await nodeByName(store, node('alpha')))).toMatchObject({ state: 'invited' });
  const valueHash = challenge();
  accepted(await recordEnrolment(store, 't1', keys(), valueHash));
  expect(accepted(await nodeByName(store, node('alpha')))).not.toHaveProperty('identityKey');
  expect(accepted(await readEnrolment(store, 't1'))).toMatchObject({
    node: 'alpha',
    enrolment: keys(),
    challengeHash: Buffer.from(valueHash),
  });
  const proof = { tokenId: 't1', node: node('alpha'), valueHash };
  await expect(enrolmentRecords(store).provenIdentity('t1')).rejects.toThrow(/has not proven/);
  accepted(await proveNode(store, proof));
  accepted(await proveNode(store, proof));
  expect(await enrolmentRecords(store).provenIdentity('t1')).toBe('UIDENTITY');
  expect(await enrolmentRecords(store).tokenUser('t1')).toBe('Ut1');
  await enrolmentRecords(store).admit(node('alpha'), 't1');
  await enrolmentRecords(store).admit(node('alpha'), 't1');
  await enrolmentRecords(store).closeToken('t1');
  expect(accepted(await nodeByName(store, node('alpha')))).toMatchObject({
    state: 'joined',
    address: '127.0.0.2',
    sealingFingerprint: 'f7',
  });
  expect((await world.ask(`select kind from mesh.events order by id`)).map(({ kind }) => kind)).toEqual([
    'node-invited',
    'node-proven',
    'node-joined',
    'token-closed',
  ]);
  expect(refused(await recordEnrolment(store, 't1', keys(), valueHash))).toMatchObject({
    kind: 'token-invalid',
    what: 'this token was used',
  });
  for (const key of [keys().identityKey, keys().overlayKey, Buffer.from(keys().sealingKey).toString('base64')])
    expect(await keyHolder(store, key)).toBe('alpha');
  expect(await keyHolder(store, 'UNOBODY')).toBeUndefined();
});

test('[U16] what was returned must be what was sealed to its key, and nothing is the node’s before', async () => {
  accepted(await invite('t1'));
  expect(
    refused(await proveNode(world.store, { tokenId: 't1', node: node('alpha'), valueHash: challenge() })),
  ).toMatchObject({ kind: 'enrolment-refused' });
  accepted(await recordEnrolment(world.store, 't1', keys(), challenge()));
  expect(
    refused(await proveNode(world.store, { tokenId: 't1', node: node('alpha'), valueHash: challenge() })),
  ).toMatchObject({
    kind: 'enrolment-refused',
    facts: { key: 'sealing' },
  });
  expect(accepted(await nodeByName(world.store, node('alpha')))).toMatchObject({ state: 'invited' });
});

test('[U16] somebody else’s key is refused, saying which; the same keys again are not, other keys after the proof are', async () => {
  await join(world, 'beta');
  accepted(await invite('t1'));
  expect(refused(await recordEnrolment(world.store, 't1', keys({ identityKey: 'Ibeta' }), challenge()))).toMatchObject({
    kind: 'enrolment-refused',
    facts: { key: 'identity' },
  });
  expect(refused(await recordEnrolment(world.store, 't1', keys({ overlayKey: 'Obeta' }), challenge()))).toMatchObject({
    facts: { key: 'overlay' },
  });
  accepted(await recordEnrolment(world.store, 't1', keys({ identityKey: 'UFIRST' }), challenge()));
  const valueHash = challenge();
  accepted(await recordEnrolment(world.store, 't1', keys(), valueHash));
  accepted(await proveNode(world.store, { tokenId: 't1', node: node('alpha'), valueHash }));
  const again = challenge();
  accepted(await recordEnrolment(world.store, 't1', keys(), again));
  accepted(await proveNode(world.store, { tokenId: 't1', node: node('alpha'), valueHash: again }));
  expect(refused(await recordEnrolment(world.store, 't1', keys({ identityKey: 'UOTHER' }), challenge()))).toMatchObject(
    { kind: 'enrolment-refused' },
  );
});

test('[U16] two nodes that prove one key at once: one has it, the other is refused', async () => {
  accepted(await invite('t1', 'alpha'));
  accepted(await invite('t2', 'beta'));
  const hashes = { t1: challenge(), t2: challenge() };
  accepted(await recordEnrolment(world.store, 't1', keys(), hashes.t1));
  accepted(await recordEnrolment(world.store, 't2', keys(), hashes.t2));
  const answers = await Promise.all([
    proveNode(world.another(), { tokenId: 't1', node: node('alpha'), valueHash: hashes.t1 }),
    proveNode(world.another(), { tokenId: 't2', node: node('beta'), valueHash: hashes.t2 }),
  ]);
  expect(answers.filter((answer) => !('kind' in answer))).toHaveLength(1);
  expect(answers.filter((answer) => 'kind' in answer)).toMatchObject([
    { kind: 'enrolment-refused', facts: { key: 'identity' } },
  ]);
});

test('[U16] a name has one machine and one good token: the second is refused until the first expired or was closed', async () => {
  await join(world, 'beta');
  expect(refused(await invite('t0', 'beta'))).toMatchObject({ kind: 'node-exists', facts: { state: 'joined' } });
  const answers = await Promise.all([invite('t1'), invite('t2')]);
  expect(answers.filter((answer) => 'kind' in answer)).toMatchObject([
    { kind: 'node-exists', what: expect.stringContaining('good until') },
  ]);
  const [first] = await world.ask(`select token_id from mesh.invitations where node = 'alpha'`);
  await enrolmentRecords(world.store).closeToken(String(first?.['token_id']));
  accepted(await invite('t3', 'alpha', 1));
  expect(refused(await recordEnrolment(world.store, 't3', keys(), challenge()))).toMatchObject({
    kind: 'token-invalid',
    what: expect.stringContaining('expired'),
  });
  accepted(await invite('t4'));
  expect(refused(await recordEnrolment(world.store, 'never', keys(), challenge()))).toMatchObject({
    kind: 'token-invalid',
  });
});
