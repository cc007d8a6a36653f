import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nodeAccount, tokenAccount } from '../../src/bus/accounts.ts';
import { prepareAccount, pushAccount, revokeAccount } from '../../src/bus/claims.ts';
import type { BusConnection, BusStatus } from '../../src/bus/connection.ts';
import { checkAnswer, checkEnrolment, makeAnswer, type CheckedEnrolment } from '../../src/bus/enrolment-checks.ts';
import type { Admission, Answer, Challenge, Enrolment, EnrolmentRefusal } from '../../src/bus/enrolment-messages.ts';
import { answerChallenge, requestEnrolment, serveEnrolment } from '../../src/bus/enrolment.ts';
import { lastDeclaration, publishDeclaration } from '../../src/bus/declarations.ts';
import type { Unreadable } from '../../src/bus/messages.ts';
import { publishReport } from '../../src/bus/reports.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { enrolAnswerSubject, enrolSubject } from '../../src/bus/subjects.ts';
import {
  invitationCredential,
  makeTokenId,
  nodeCredential,
  parseInvitation,
  printInvitation,
} from '../../src/bus/token.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { until } from '../../src/foundation/until.ts';
import { makeSealingKey, open, publicKeyFault, seal } from '../../src/sealing/box.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { makeOverlayKey } from '../../src/sealing/overlay.ts';
import { makeDeclarationKey } from '../../src/sealing/signing.ts';
import { makeValue } from '../../src/sealing/value.ts';
import { envelopeOf, reportOf } from './messages.ts';
import { startBus, type TestBus } from './server.ts';

const anvil = nodeName.parse('anvil');
const declarationKey = makeDeclarationKey().publicKey;
let bus: TestBus;
beforeAll(async () => {
  bus = await startBus();
  await ensureStreams(bus.mesh);
});
afterAll(() => bus.stop());

const keysOf = () => ({ identity: makeSeed('user'), sealing: makeSealingKey(), overlay: makeOverlayKey() });
const enrolmentOf = (token: string, keys: ReturnType<typeof keysOf>): CheckedEnrolment => ({
  tokenId: token,
  node: anvil,
  address: '127.0.0.1',
  identityKey: keys.identity.publicKey,
  sealingKey: keys.sealing.publicKey,
  overlayKey: keys.overlay.publicKey,
});
const rules = (held: Readonly<Record<string, string>> = {}) => ({
  publicKeyFault,
  heldBy: async (key: string) => held[key],
});

/** A controller as small as one can be: it remembers the digest of what it sealed, for one token. */
function controller(held: Readonly<Record<string, string>> = {}) {
  const unreadable: Unreadable[] = [];
  const faults: unknown[] = [];
  let expected: { enrolled: CheckedEnrolment; sha256: string } | undefined;
  const admitted: string[] = [];
  const serving = serveEnrolment(bus.mesh, {
    ...rules(held),
    async onEnrolment(enrolled): Promise<Challenge | EnrolmentRefusal> {
      if (enrolled.address === 'fails') throw new Error('the store is away');
      const value = makeValue();
      expected = { enrolled, sha256: value.reveal((bytes) => sha256Hex(bytes)) };
      return seal(value, enrolled.sealingKey);
    },
    async onAnswer(said): Promise<Admission | EnrolmentRefusal> {
      if (expected === undefined) return { kind: 'token-spent', detail: 'nothing was asked' };
      const refusal = checkAnswer(said, expected);
      if (refusal !== undefined) return refusal;
      const shape = nodeAccount(anvil, { meshAccount: bus.identity.accounts.mesh });
      const prepared = await prepareAccount(bus.identity, shape, { userKey: expected.enrolled.identityKey });
      await pushAccount(bus.system, bus.identity, { accountKey: prepared.accountKey, shape });
      admitted.push(prepared.accountKey);
      return { node: anvil, userJwt: prepared.userJwt, servers: [...bus.servers], declarationKey };
    },
    onUnreadable: async (message) => void unreadable.push(message),
    onFault: (fault) => void faults.push(fault),
  });
  return { serving, unreadable, faults, admitted };
}

async function invited(
  onStatus?: (status: BusStatus) => void,
): Promise<{ token: string; connection: BusConnection; accountKey: string }> {
  const token = makeTokenId();
  const expiresAt = new Date(Date.now() + 3_600_000);
  const { prepared, credential } = await bus.account(
    tokenAccount(token, { meshAccount: bus.identity.accounts.mesh }),
    expiresAt,
  );
  const line = printInvitation({
    node: anvil,
    tokenId: token,
    servers: bus.servers,
    userJwt: credential.jwt,
    seed: credential.seed,
    declarationKey,
    expiresAt,
  });
  const invitation = parseInvitation(line, new Date());
  if (isRefusal(invitation)) throw new Error(invitation.what);
  const connection = await bus.connect('joining', invitationCredential(invitation), onStatus);
  return { token, connection, accountKey: prepared.accountKey };
}

describe('joining', () => {
  test('[U16] a node with a printed invitation proves its keys, is admitted, and is a node from then on', async () => {
    const control = controller();
    const { token, connection, accountKey } = await invited();
    const keys = keysOf();
    const enrolled = enrolmentOf(token, keys);
    const challenge = await requestEnrolment(connection, enrolled);
    if ('kind' in challenge) throw new Error(challenge.detail);
    expect(challenge.fingerprint).toBe(keys.sealing.fingerprint);
    const proof = open(challenge.sealed, keys.sealing).reveal((bytes) => sha256Hex(bytes));
    const admission = await answerChallenge(connection, makeAnswer(enrolled, proof, keys.identity));
    if ('kind' in admission) throw new Error(admission.detail);
    expect(admission).toMatchObject({ node: 'anvil', servers: bus.servers, declarationKey });
    const host = await bus.connect('host', nodeCredential(admission, keys.identity));
    await publishDeclaration(bus.mesh, envelopeOf(anvil, 1), 0);
    expect(await lastDeclaration(host, anvil)).toHaveProperty('envelope');
    await publishReport(host, reportOf(anvil, 1));
    // The token is closed: its connection is cut, the node's is not.
    await revokeAccount(bus.system, bus.identity, accountKey);
    await until(() => !connection.isConnected(), { withinMs: 5_000, what: 'the token to be cut' });
    await publishReport(host, reportOf(anvil, 2));
    await control.serving.stop();
    expect(control.faults).toEqual([]);
    for (const each of [connection, host]) await each.close();
  });

  test("[U16] the invitation's account can send an enrolment and an answer, and nothing else", async () => {
    const control = controller();
    const denied: string[] = [];
    const { connection } = await invited((status) => status.kind === 'denied' && denied.push(status.subject));
    const other = makeTokenId();
    const tries = [
      enrolSubject(other),
      enrolAnswerSubject(other),
      'mesh.enrol.x.y',
      'mesh.declare.anvil',
      'mesh.report.anvil',
      '$JS.API.INFO',
      '$JS.API.DIRECT.GET.MESH_DECLARATIONS.mesh.declare.anvil',
      '$SYS.REQ.CLAIMS.UPDATE',
      'anything',
    ];
    for (const subject of tries) connection.nats.publish(subject, '{}');
    for (const subject of ['>', 'mesh.>', 'mesh.enrol.*', '_INBOX.>', '_INBOX_anvil.>'])
      connection.nats.subscribe(subject);
    await until(() => denied.length === tries.length + 5, { withinMs: 5_000, what: 'each to be denied' });
    await control.serving.stop();
    expect(control.unreadable).toEqual([]);
    await connection.close();
  });

  test('[U16] over the bus a refusal says which key, a fault says to try later, and neither ends the service', async () => {
    const taken = keysOf();
    const control = controller({ [taken.sealing.publicKey]: 'bellows' });
    const { token, connection } = await invited();
    const keys = keysOf();
    const whole = enrolmentOf(token, keys);
    const { identityKey: _, ...without } = whole;
    expect(await requestEnrolment(connection, without)).toMatchObject({ kind: 'key-absent', key: 'identity' });
    expect(await requestEnrolment(connection, { ...whole, overlayKey: 'AAAA' })).toMatchObject({
      kind: 'key-malformed',
      key: 'overlay',
    });
    expect(await requestEnrolment(connection, { ...whole, sealingKey: taken.sealing.publicKey })).toMatchObject({
      kind: 'key-of-another',
      key: 'sealing',
      detail: 'the sealing key: it is the key of the node bellows',
    });
    expect(await requestEnrolment(connection, { ...whole, address: 'fails' })).toMatchObject({ kind: 'try-later' });
    expect(control.faults.map(String)).toEqual(['Error: the store is away']);
    expect(await requestEnrolment(connection, whole)).toHaveProperty('sealed');
    await control.serving.stop();
    // The server has heard of it, too.
    await bus.mesh.nats.flush();
    await expect(requestEnrolment(connection, whole)).rejects.toMatchObject({ reason: 'nobody' });
    await connection.close();
  });

  test('[U17] an enrolment nobody can read is kept aside, and whoever sent it is told so', async () => {
    const control = controller();
    const { token, connection } = await invited();
    const said = await connection.nats.request(enrolSubject(token), '{"tokenId":', { timeout: 5_000 });
    expect(said.json()).toMatchObject({ kind: 'unreadable' });
    const other = { ...enrolmentOf(makeTokenId(), keysOf()) };
    const crossed = await connection.nats.request(enrolSubject(token), JSON.stringify(other), { timeout: 5_000 });
    expect(crossed.json()).toMatchObject({ kind: 'another-node' });
    expect(control.unreadable).toEqual([
      expect.objectContaining({ subject: enrolSubject(token), reason: 'it is not JSON in UTF-8' }),
    ]);
    await control.serving.stop();
    await connection.close();
  });
});

describe('what is refused', () => {
  const token = makeTokenId();
  const keys = keysOf();
  const enrolled = enrolmentOf(token, keys);
  const sha256 = sha256Hex('the value');
  const whole = makeAnswer(enrolled, sha256, keys.identity);
  const judge = (said: Answer) => checkAnswer(said, { enrolled, sha256 });

  test("[U16] each key that is absent, malformed or somebody else's, saying which", async () => {
    const { identityKey: _i, ...noIdentity } = enrolled;
    const { sealingKey: _s, ...noSealing } = enrolled;
    const { overlayKey: _o, ...noOverlay } = enrolled;
    const lowOrder = Buffer.alloc(32).toString('base64');
    const held = {
      [enrolled.identityKey]: 'bellows',
      [enrolled.sealingKey]: 'bellows',
      [enrolled.overlayKey]: 'bellows',
    };
    const each: [Enrolment, Readonly<Record<string, string>>, string, string][] = [
      [noIdentity, {}, 'key-absent', 'identity'],
      [noSealing, {}, 'key-absent', 'sealing'],
      [noOverlay, {}, 'key-absent', 'overlay'],
      [{ ...enrolled, identityKey: 'UAAA' }, {}, 'key-malformed', 'identity'],
      [{ ...enrolled, identityKey: makeSeed('account').publicKey }, {}, 'key-malformed', 'identity'],
      [{ ...enrolled, sealingKey: '' }, {}, 'key-malformed', 'sealing'],
      [{ ...enrolled, sealingKey: lowOrder }, {}, 'key-malformed', 'sealing'],
      [{ ...enrolled, overlayKey: `${enrolled.overlayKey}\n` }, {}, 'key-malformed', 'overlay'],
      [{ ...enrolled, overlayKey: enrolled.sealingKey }, {}, 'key-malformed', 'overlay'],
      [enrolled, { [enrolled.identityKey]: 'bellows' }, 'key-of-another', 'identity'],
      [enrolled, { [enrolled.sealingKey]: 'bellows' }, 'key-of-another', 'sealing'],
      [enrolled, { [enrolled.overlayKey]: 'bellows' }, 'key-of-another', 'overlay'],
      [enrolled, held, 'key-of-another', 'identity'],
    ];
    for (const [sent, by, kind, key] of each)
      expect(await checkEnrolment(sent, rules(by))).toMatchObject({ kind, key });
    expect(await checkEnrolment(enrolled, rules())).toEqual(enrolled);
    // The same node with the same keys again: a retry.
    expect(await checkEnrolment(enrolled, rules({ [enrolled.identityKey]: 'anvil' }))).toEqual(enrolled);
  });

  test('[U16] each answer that does not prove a key, saying which', () => {
    const stranger = keysOf();
    const { signature: _g, ...unsigned } = whole;
    const { sha256: _h, ...unopened } = whole;
    expect(judge(whole)).toBeUndefined();
    expect(judge(unopened)).toMatchObject({ kind: 'key-absent', key: 'sealing' });
    expect(judge({ ...whole, sha256: 'xyz' })).toMatchObject({ kind: 'key-malformed', key: 'sealing' });
    expect(judge(makeAnswer(enrolled, sha256Hex('a guess'), keys.identity))).toMatchObject({
      kind: 'key-of-another',
      key: 'sealing',
    });
    expect(judge(unsigned)).toMatchObject({ kind: 'key-absent', key: 'identity' });
    expect(judge({ ...whole, signature: 'xyz' })).toMatchObject({ kind: 'key-malformed', key: 'identity' });
    expect(judge(makeAnswer(enrolled, sha256, stranger.identity))).toMatchObject({
      kind: 'key-of-another',
      key: 'identity',
    });
    expect(judge({ ...whole, node: nodeName.parse('bellows') })).toMatchObject({ kind: 'another-node' });
    expect(judge({ ...whole, tokenId: makeTokenId() })).toMatchObject({ kind: 'another-node' });
  });

  test('[U16] a key that was swapped on the way is not what the node signed', () => {
    const swaps: Partial<CheckedEnrolment>[] = [
      { sealingKey: keysOf().sealing.publicKey },
      { overlayKey: keysOf().overlay.publicKey },
    ];
    for (const swapped of swaps) {
      const refusal = checkAnswer(whole, { enrolled: { ...enrolled, ...swapped }, sha256 });
      expect(refusal).toMatchObject({ kind: 'key-of-another', key: 'identity' });
    }
  });
});
