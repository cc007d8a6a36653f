import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { clientAccount, nodeAccount, seatAccount, tokenAccount } from '../../src/bus/accounts.ts';
import { lookUpAccount, prepareAccount, pushAccount, revokeAccount } from '../../src/bus/claims.ts';
import { connectBus, reconnectDelayMs, reconnectPauses, type BusStatus } from '../../src/bus/connection.ts';
import {
  loadBusIdentity,
  meshCredential,
  newBusIdentity,
  serverClaims,
  systemCredential,
} from '../../src/bus/identity.ts';
import { publishReport } from '../../src/bus/reports.ts';
import { isSignedBy, makeSeed, Seed, userKeyFault } from '../../src/bus/seed.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { makeTokenId } from '../../src/bus/token.ts';
import { nodeName, partName } from '../../src/domain/words/names.ts';
import { until } from '../../src/foundation/until.ts';
import { reportOf } from './messages.ts';
import { startBus, type TestBus } from './server.ts';

let bus: TestBus;
beforeAll(async () => {
  bus = await startBus();
  await ensureStreams(bus.mesh);
});
afterAll(() => bus.stop());

const anvil = nodeName.parse('anvil');
const shapeOf = () => nodeAccount(anvil, { meshAccount: bus.identity.accounts.mesh });

describe('credentials at run time', () => {
  test('[U15] given without a restart, taken without a restart; taking one cuts its connection and no other', async () => {
    const { prepared, credential } = await bus.account(shapeOf());
    const heard: BusStatus[] = [];
    const connection = await bus.connect('anvil', credential, (status) => heard.push(status));
    let otherWasCut = false;
    const forget = bus.mesh.onStatus((status) => (otherWasCut ||= status.kind === 'disconnected'));
    await publishReport(connection, reportOf(anvil, 1));
    await revokeAccount(bus.system, bus.identity, prepared.accountKey);
    await until(() => !connection.isConnected(), { withinMs: 5_000, what: 'the connection to be cut' });
    expect(heard.map(({ kind }) => kind)).toContain('disconnected');
    await expect(bus.connect('anvil', credential)).rejects.toThrow(/Authorization/i);
    expect(await lookUpAccount(bus.system, prepared.accountKey)).toBeUndefined();
    expect(otherWasCut).toBe(false);
    forget();
    // Again is no fault: a retried act does so.
    await revokeAccount(bus.system, bus.identity, prepared.accountKey);
    await connection.close();
  });

  test('[U15] taken stays taken and given stays given when the server is killed and starts again', async () => {
    const taken = await bus.account(shapeOf());
    const given = await bus.account(shapeOf());
    await revokeAccount(bus.system, bus.identity, taken.prepared.accountKey);
    const connection = await bus.connect('anvil', given.credential);
    await bus.kill();
    await until(() => !connection.isConnected(), { withinMs: 5_000, what: 'the loss to be seen' });
    await bus.start();
    await until(() => connection.isConnected() && bus.system.isConnected(), {
      withinMs: 20_000,
      what: 'all to be back',
    });
    await publishReport(connection, reportOf(anvil, 2));
    await expect(bus.connect('taken', taken.credential)).rejects.toThrow(/Authorization/i);
    await connection.close();
  });

  test('[U15] pushing a recorded account again leaves its one account working, its connection undisturbed', async () => {
    const { prepared, credential } = await bus.account(shapeOf());
    const heard: BusStatus[] = [];
    const connection = await bus.connect('anvil', credential, (status) => heard.push(status));
    for (let times = 0; times < 3; times += 1) {
      await pushAccount(bus.system, bus.identity, { accountKey: prepared.accountKey, shape: shapeOf() });
    }
    await publishReport(connection, reportOf(anvil, 3));
    expect(heard).toEqual([]);
    await connection.close();
  });

  test('[U15] a wider shape of the same account holds at once, without a new credential', async () => {
    const seat = partName.parse('the-other');
    const seats = await bus.account(seatAccount(seat));
    const serving = await bus.connect('seat', seats.credential);
    serving.nats.subscribe(`${seat}.*.*.*`, {
      callback: (error, message) => void (error === null && message.respond('served')),
    });
    await serving.nats.flush();
    const loose = { ...shapeOf(), publish: ['>'] };
    const { prepared, credential } = await bus.account(loose);
    const connection = await bus.connect('anvil', credential);
    await expect(connection.nats.request(`${seat}.ask`, '', { timeout: 1_000 })).rejects.toMatchObject({ code: '503' });
    const wider = clientAccount(anvil, {
      meshAccount: bus.identity.accounts.mesh,
      seats: [{ seat, account: seats.prepared.accountKey }],
    });
    await pushAccount(bus.system, bus.identity, { accountKey: prepared.accountKey, shape: wider });
    expect((await connection.nats.request(`${seat}.ask`, '', { timeout: 2_000 })).string()).toBe('served');
    for (const each of [serving, connection]) await each.close();
  });

  test('[U16] an account that expires lets nobody in afterwards', async () => {
    const shape = tokenAccount(makeTokenId(), { meshAccount: bus.identity.accounts.mesh });
    const { credential } = await bus.account(shape, new Date(Date.now() - 1_000));
    await expect(bus.connect('late', credential)).rejects.toThrow(/Authorization|expired/i);
  });

  test('[U15] [C88] another seed than the one a credential was made for is refused, and not tried on where a server is waited for', async () => {
    const { credential } = await bus.account(shapeOf());
    const stolen = { ...credential, seed: makeSeed('user') };
    await expect(bus.connect('stolen', stolen)).rejects.toThrow(/Authorization/i);
    const waiting = connectBus({ servers: bus.servers, name: 'stolen', credential: stolen, patient: true });
    await expect(waiting).rejects.toThrow(/Authorization/i);
  });

  test('[U15] an account that another operator signed lets nobody in, even one that the store took', async () => {
    const other = newBusIdentity();
    const seed = makeSeed('user');
    const shape = shapeOf();
    const prepared = await prepareAccount(other, shape, { userKey: seed.publicKey });
    await pushAccount(bus.system, other, { accountKey: prepared.accountKey, shape });
    const credential = { jwt: prepared.userJwt, seed, inbox: shape.inbox };
    await expect(bus.connect('foreign', credential)).rejects.toThrow(/Authorization/i);
  });

  test('[U15] MESH itself can do everything but push accounts, and the user that pushes accounts nothing else', async () => {
    await expect(
      pushAccount(bus.mesh, bus.identity, { accountKey: bus.identity.accounts.mesh, shape: shapeOf() }),
    ).rejects.toThrow('did not answer');
    await expect(bus.system.nats.request('$SYS.REQ.SERVER.PING', '', { timeout: 1_000 })).rejects.toMatchObject({
      code: 'PERMISSIONS_VIOLATION',
    });
  });
});

describe('the keys of the bus', () => {
  test('[S21] an identity read back from its seeds is the same bus', async () => {
    const { seeds, accounts } = bus.identity;
    const text = (seed: Seed) => seed.reveal((bytes) => `${Buffer.from(bytes).toString()}\n`);
    const again = loadBusIdentity(
      {
        operator: text(seeds.operator),
        accountSigning: text(seeds.accountSigning),
        systemUser: text(seeds.systemUser),
        meshUser: text(seeds.meshUser),
      },
      accounts,
    );
    const connection = await bus.connect('again', await systemCredential(again));
    const mesh = await bus.connect('mesh again', await meshCredential(again));
    const prepared = await prepareAccount(again, shapeOf(), { userKey: makeSeed('user').publicKey });
    await pushAccount(connection, again, { accountKey: prepared.accountKey, shape: shapeOf() });
    for (const each of [connection, mesh]) await each.close();
  });

  test('[S5] what the server is configured with holds no seed, and no seed can be printed', async () => {
    const claims = await serverClaims(bus.identity);
    const shown = JSON.stringify(claims) + inspect(bus.identity, { depth: 9, showHidden: true });
    for (const seed of Object.values(bus.identity.seeds)) {
      const text = seed.reveal((bytes) => Buffer.from(bytes).toString());
      expect(shown).not.toContain(text);
      expect(String(seed)).not.toContain(text);
    }
    expect(() => JSON.stringify(bus.identity)).toThrow('a seed has no JSON form');
  });

  test('[S5] what is no seed is refused without quoting it', () => {
    expect(() => new Seed('user', 'SUCANARY')).toThrow('this is no seed of a bus user');
    const operator = makeSeed('operator').reveal((bytes) => Uint8Array.from(bytes));
    expect(() => new Seed('user', operator)).toThrow('another kind');
  });

  test('[U16] a signature is by its key alone, and a public key is told from what is none', () => {
    const [mine, other] = [makeSeed('user'), makeSeed('user')];
    const signature = mine.sign('a text');
    expect(isSignedBy(mine.publicKey, 'a text', signature)).toBe(true);
    expect(isSignedBy(mine.publicKey, 'a teyt', signature)).toBe(false);
    expect(isSignedBy(other.publicKey, 'a text', signature)).toBe(false);
    expect(isSignedBy(mine.publicKey, 'a text', 'AAAA')).toBe(false);
    expect(userKeyFault(mine.publicKey)).toBeUndefined();
    expect(userKeyFault(`${mine.publicKey.slice(0, -1)}${mine.publicKey.endsWith('A') ? 'B' : 'A'}`)).toMatch(
      'checksum',
    );
    expect(userKeyFault(makeSeed('account').publicKey)).toMatch('begin with U');
    expect(userKeyFault('')).toMatch('begin with U');
  });
});

describe('reconnecting', () => {
  test('[D15] the first connection is waited for when it is asked to be, and refused at once when not', async () => {
    const { credential } = await bus.account(shapeOf());
    await bus.kill();
    const to = { servers: bus.servers, name: 'early', credential };
    await expect(connectBus(to)).rejects.toMatchObject({ code: 'CONNECTION_REFUSED' });
    const waiting = connectBus({ ...to, patient: true });
    await bus.start();
    const connection = await waiting;
    await until(() => bus.system.isConnected(), { withinMs: 20_000, what: 'the others to be back' });
    await publishReport(connection, reportOf(anvil, 4));
    await bus.kill();
    // A server that is away, or goes as the connection closes, holds up nobody.
    await connection.close();
    expect(await connection.closed).toBeUndefined();
    await connection.close();
    await bus.start();
    await until(() => bus.system.isConnected() && bus.mesh.isConnected(), {
      withinMs: 20_000,
      what: 'the others to be back',
    });
  });

  test('[D15] pauses grow to ten seconds, never past it, and half of each is chance', () => {
    const least = (attempt: number) => reconnectDelayMs(attempt, () => 0);
    const most = (attempt: number) => reconnectDelayMs(attempt, () => 1);
    expect([1, 2, 3, 4].map(least)).toEqual([50, 100, 200, 400]);
    expect([1, 2, 3, 4].map(most)).toEqual([100, 200, 400, 800]);
    expect([8, 50, 5_000].map(most)).toEqual([10_000, 10_000, 10_000]);
  });

  test('[D15] [C76] a pause stays as long as it is while it is waited for, and begins short again after a connection', () => {
    let nowMs = 0;
    const pauses = reconnectPauses(
      () => nowMs,
      () => 1,
    );
    const attempts: number[] = [];
    // As the client does it: what is left of the pause is waited in pieces, and it is asked again after each.
    for (; attempts.length < 8; nowMs += 10) if (pauses.untilNext() === 0) attempts.push(nowMs);
    expect(attempts.slice(1).map((at, n) => at - (attempts[n] ?? 0))).toEqual([
      100, 200, 400, 800, 1_600, 3_200, 6_400,
    ]);
    nowMs += 60_000;
    expect(pauses.untilNext()).toBe(0);
    pauses.begin();
    expect(pauses.untilNext()).toBe(100);
  });
});
