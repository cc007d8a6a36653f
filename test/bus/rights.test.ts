import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { clientAccount, nodeAccount, programAccount, seatAccount } from '../../src/bus/accounts.ts';
import { openBucket } from '../../src/bus/buckets.ts';
import type { BusStatus } from '../../src/bus/connection.ts';
import { announceChanged, lastDeclaration, onChanged } from '../../src/bus/declarations.ts';
import { publishReport } from '../../src/bus/reports.ts';
import {
  changedSubject,
  declareSubject,
  lastDeclarationSubject,
  putSubject,
  reportSubject,
} from '../../src/bus/subjects.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { until } from '../../src/foundation/until.ts';
import { reportOf } from './messages.ts';
import { attacker, bucket, seat, secretEnvelope, stageScene, victim, victimKey, type Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await stageScene();
});
afterAll(() => scene.bus.stop());

describe('a node within its rights', () => {
  test('[U15] reads its own declaration, reports, has its own keys, and hears what it is told', async () => {
    const node = await scene.bus.connect('victim', (await scene.bus.account(scene.victimShape)).credential);
    expect(await lastDeclaration(node, victim)).toEqual({ sequence: 1, envelope: secretEnvelope });
    const keys = await openBucket(node, bucket);
    expect(await keys.get(victimKey)).toMatchObject({ value: 'a secret need' });
    const told = new Promise<readonly string[]>((resolve) => void onChanged(node, victim, resolve));
    await node.nats.flush();
    announceChanged(scene.bus.mesh, victim, ['a']);
    expect(await told).toEqual(['a']);
    const revision = await keys.put(`${victim}.web.config.b`, '1');
    expect(await keys.replace(`${victim}.web.config.b`, '2', revision + 100)).toBe('conflict');
    expect(await keys.replace(`${victim}.web.config.b`, '2', revision)).toBeGreaterThan(revision);
    expect(await keys.replace(`${victim}.web.config.c`, '1', 0)).toBeGreaterThan(revision);
    await keys.delete(`${victim}.web.config.b`);
    expect(await keys.get(`${victim}.web.config.b`)).toBeUndefined();
    expect(await scene.meshBucket.get(victimKey)).toMatchObject({ value: 'a secret need' });
    await node.close();
  });

  test('[U15] a node that never was sent a declaration is told that there is none', async () => {
    const fresh = nodeName.parse('fresh');
    const shape = nodeAccount(fresh, { meshAccount: scene.bus.identity.accounts.mesh });
    const node = await scene.bus.connect('fresh', (await scene.bus.account(shape)).credential);
    expect(await lastDeclaration(node, fresh)).toBeUndefined();
    await node.close();
  });

  test('[U15] what is forbidden says so: PERMISSIONS_VIOLATION, and the subject in the status', async () => {
    const statuses: BusStatus[] = [];
    const node = await scene.bus.connect(
      'attacker',
      (await scene.bus.account(scene.attackerShape)).credential,
      (status) => statuses.push(status),
    );
    await expect(lastDeclaration(node, victim)).rejects.toMatchObject({
      reason: 'denied',
      cause: { code: 'PERMISSIONS_VIOLATION' },
    });
    await expect(publishReport(node, reportOf(victim, 1))).rejects.toMatchObject({ reason: 'denied' });
    await expect((await openBucket(node, bucket)).put(victimKey, 'x')).rejects.toMatchObject({ reason: 'denied' });
    node.nats.publish(declareSubject(victim), 'forged');
    node.nats.subscribe('>');
    node.nats.subscribe(changedSubject(victim));
    await until(() => statuses.filter(({ kind }) => kind === 'denied').length === 6, {
      withinMs: 5_000,
      what: 'six denials',
    });
    expect(statuses).toContainEqual({ kind: 'denied', operation: 'publish', subject: declareSubject(victim) });
    expect(statuses).toContainEqual({ kind: 'denied', operation: 'subscription', subject: '>' });
    expect(statuses).toContainEqual({ kind: 'denied', operation: 'subscription', subject: changedSubject(victim) });
    await node.close();
  });
});

describe('other parties', () => {
  test('[U15] a seat can answer, and writes nowhere else: no reply subject, no publish of its own', async () => {
    const before = await scene.stored();
    const { prepared, credential } = await scene.bus.account(seatAccount(seat));
    const serving = await scene.bus.connect('seat', credential);
    const seen: string[] = [];
    serving.nats.subscribe(`${seat}.*.*.*`, {
      callback: (error, message) => {
        if (error !== null) return;
        seen.push(message.reply ?? '');
        message.respond('first');
        message.respond('second');
      },
    });
    await serving.nats.flush();
    const shape = clientAccount(attacker, {
      meshAccount: scene.bus.identity.accounts.mesh,
      seats: [{ seat, account: prepared.accountKey }],
    });
    const loose = { ...shape, publish: ['>'], subscribe: ['>'] };
    const node = await scene.bus.connect('attacker', (await scene.bus.account(loose)).credential);
    for (const reply of [declareSubject(victim), reportSubject(victim), putSubject(bucket, victimKey)]) {
      node.nats.publish(`${seat}.provisioning`, '{}', { reply });
      serving.nats.publish(reply, 'forged');
      serving.nats.publish(lastDeclarationSubject(victim), '', { reply });
    }
    await until(async () => (await node.nats.flush(), seen.length === 3), { withinMs: 5_000, what: 'three requests' });
    await serving.nats.flush();
    await scene.bus.mesh.nats.flush();
    // What the seat sees is the server's own reply subject, never the one that the asker chose.
    expect(seen.every((reply) => reply.startsWith('_R_.'))).toBe(true);
    expect(await scene.stored()).toEqual(before);
    for (const each of [serving, node]) await each.close();
  });

  test('[U15] a program hears that its node changed, and says nothing', async () => {
    const statuses: BusStatus[] = [];
    const shape = programAccount('postgres-on-victim', { meshAccount: scene.bus.identity.accounts.mesh, node: victim });
    const program = await scene.bus.connect('program', (await scene.bus.account(shape)).credential, (status) =>
      statuses.push(status),
    );
    const told = new Promise<readonly string[]>((resolve) => void onChanged(program, victim, resolve));
    await program.nats.flush();
    announceChanged(scene.bus.mesh, victim);
    expect(await told).toEqual([]);
    const before = await scene.stored();
    await expect(lastDeclaration(program, victim)).rejects.toMatchObject({ reason: 'denied' });
    await expect(publishReport(program, reportOf(victim, 9))).rejects.toMatchObject({ reason: 'denied' });
    expect(await scene.stored()).toEqual(before);
    await program.close();
  });
});
