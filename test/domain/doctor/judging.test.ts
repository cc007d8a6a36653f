/** What the doctor makes of what was seen, without a server. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { controllerWorker, meshWorkers, provisionerWorker } from '../../../src/domain/act/workers.ts';
import { isWell, type Finding, type Looked } from '../../../src/domain/doctor/finding.ts';
import { judgeBus, judgeRaised, judgeStore, judgeTemporal } from '../../../src/domain/doctor/foundation.ts';
import {
  judgeDisk,
  judgeMemory,
  judgeNode,
  judgeProgram,
  judgeSecrets,
  judgeStateFolder,
} from '../../../src/domain/doctor/machine.ts';
import { judgeHost, judgeQueue } from '../../../src/domain/doctor/processes.ts';

const seen = <Value>(value: Value): Looked<Value> => ({ kind: 'seen', value });
const silent: Looked<never> = { kind: 'silent', withinMs: 4_000 };
const failed: Looked<never> = { kind: 'failed', why: 'connect ECONNREFUSED' };
const notAsked: Looked<never> = { kind: 'not asked', why: 'the bus cannot be used' };
const at = { namespace: 'mesh', address: '127.0.0.1:7233' };
const queue = (pollers: Looked<readonly string[]>, answers: Looked<boolean>, strays: readonly string[] = []) =>
  judgeQueue(controllerWorker, at, { pollers, answers, strays, lacks: false });

describe('the machine', () => {
  test.each([
    ['20.11.0', 'ok'],
    ['20.10.9', 'wrong'],
    ['20.20.2', 'ok'],
    ['22.0.0', 'ok'],
    ['9.99.0', 'wrong'],
  ] as const)('[U7] Node.js %s is %s for what package.json asks', (version, is) => {
    expect(judgeNode({ version, asks: '>=20.11' })).toMatchObject({ is, says: expect.stringContaining(version) });
  });

  test('[S21] a state folder is there, writable, and for nobody else to write in', () => {
    const folder = (mode: number, isWritable = true) => judgeStateFolder('/s', { kind: 'folder', mode, isWritable });
    expect([0o700, 0o711, 0o755].map((mode) => folder(mode).is)).toEqual(['ok', 'ok', 'ok']);
    expect([0o770, 0o777, 0o722].map((mode) => folder(mode).is)).toEqual(['wrong', 'wrong', 'wrong']);
    expect(folder(0o777).next).toEqual(["chmod go-w '/s'"]);
    expect(folder(0o700, false).is).toBe('wrong');
    expect(judgeStateFolder('/s', { kind: 'absent' })).toMatchObject({ is: 'wrong', next: ['mesh up'] });
    expect(judgeStateFolder('/s', { kind: 'not a folder' }).is).toBe('wrong');
  });

  test('[S21] any bit for anybody but the owner is wrong for a key file and its folder, each with the command that mends it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0o777 }), fc.integer({ min: 0, max: 0o777 }), (folder, file) => {
        const found = judgeSecrets({
          folders: [{ path: '/s/secrets', mode: folder }],
          files: [{ path: '/s/secrets/key', mode: file }],
          missing: [],
        });
        const wrong = found.filter(({ is }) => is === 'wrong').map(({ where, next }) => [where, next[0]]);
        expect(wrong).toEqual([
          ...((folder & 0o077) === 0 ? [] : [['/s/secrets', "chmod 0700 '/s/secrets'"]]),
          ...((file & 0o077) === 0 ? [] : [['/s/secrets/key', "chmod 0600 '/s/secrets/key'"]]),
        ]);
      }),
    );
    const lost = judgeSecrets({ folders: [], files: [], missing: ['/s/secrets/bus-operator.nk'] });
    expect(lost).toMatchObject([{ is: 'wrong', where: '/s/secrets/bus-operator.nk' }]);
    expect(judgeSecrets({ folders: [], files: [], missing: [] })).toEqual([]);
  });

  test('[U11] little room is wrong, and so is a program that the environment names and that is none; one still to be fetched is not', () => {
    const mebibyte = 1024 * 1024;
    expect(judgeDisk('/s', { freeBytes: 1023 * mebibyte }).is).toBe('wrong');
    expect(judgeDisk('/s', { freeBytes: 1024 * mebibyte })).toMatchObject({ is: 'ok', says: '1.0 GiB free' });
    expect(judgeMemory({ availableBytes: 127 * mebibyte }).is).toBe('wrong');
    expect(judgeMemory({ availableBytes: 128 * mebibyte }).is).toBe('ok');
    expect(judgeProgram('temporal', { kind: 'not yet', says: 'fetched by mesh up' }).is).toBe('unknown');
    expect(judgeProgram('temporal', { kind: 'wrong', says: 'MESH_TEMPORAL names /x', next: ['unset'] }).is).toBe(
      'wrong',
    );
    const found = judgeProgram('temporal', { kind: 'found', path: '/bin/temporal', version: '1.9', from: 'PATH' });
    expect(found).toMatchObject({ is: 'ok', where: '/bin/temporal', facts: { from: 'PATH' } });
  });
});

describe('the foundation', () => {
  test('[C94] which side is older is said of a store of another version', () => {
    const store = { where: '127.0.0.1:5432/mesh', role: 'mesh_controller' };
    const of = (newer: readonly string[], missing: readonly string[]) =>
      judgeStore(store, seen({ ran: ['0001-a', ...newer], newer, missing, isReadOnly: false }));
    expect(of([], [])).toMatchObject({ is: 'ok', says: expect.stringContaining('0001-a') });
    expect(of(['9999-later'], [])).toMatchObject({
      is: 'wrong',
      facts: { older: 'command', migrations: ['9999-later'] },
    });
    expect(of([], ['0002-b'])).toMatchObject({ is: 'wrong', facts: { older: 'store' }, next: ['mesh up'] });
    const standby = judgeStore(store, seen({ ran: ['0001-a'], newer: [], missing: [], isReadOnly: true }));
    expect(standby).toMatchObject({ is: 'wrong', says: expect.stringContaining('takes no writes') });
    // One that was used by a newer version and lacks ours is not to be brought forward by this command.
    expect(of(['9999-later'], ['0002-b'])).toMatchObject({ facts: { older: 'command' } });
  });

  test('[U5] what does not answer is wrong, in the words of the fault; what was not asked is unknown', () => {
    const where = '127.0.0.1:1';
    const judges: readonly ((looked: Looked<never>) => Finding)[] = [
      (looked) => judgeStore({ where, role: 'mesh_controller', log: '/s/logs/postgresql.log' }, looked),
      (looked) => judgeBus({ where, log: '/s/logs/nats.log' }, looked),
      (looked) => judgeTemporal({ where, namespace: 'mesh', log: '/s/logs/temporal.log' }, looked),
    ];
    for (const judge of judges) {
      expect(judge(failed)).toMatchObject({ is: 'wrong', where, says: expect.stringContaining('ECONNREFUSED') });
      expect(judge(failed).next).toEqual(['mesh up', expect.stringMatching(/^tail '\/s\/logs\//)]);
      expect(judge(silent)).toMatchObject({ is: 'wrong', says: expect.stringContaining('no answer within 4 s') });
      expect(judge(notAsked)).toMatchObject({ is: 'unknown', next: [] });
    }
  });

  test('[A12] what the bus and Temporal have to hold and do not is named', () => {
    const bus = (missing: readonly string[]) => judgeBus({ where: 'nats://b' }, seen({ missing }));
    expect(bus([]).is).toBe('ok');
    expect(bus(['stream MESH_REPORTS'])).toMatchObject({ is: 'wrong', facts: { missing: ['stream MESH_REPORTS'] } });
    const temporal = (hasNamespace: boolean, missing: readonly string[]) =>
      judgeTemporal({ where: 't:1', namespace: 'mesh' }, seen({ hasNamespace, missing }));
    expect(temporal(true, []).is).toBe('ok');
    expect(temporal(false, [])).toMatchObject({
      is: 'wrong',
      next: ['temporal operator namespace create --address t:1 --namespace mesh'],
    });
    expect(temporal(true, ['MeshNode']).next).toEqual([
      'temporal operator search-attribute create --address t:1 --namespace mesh --name MeshNode --type Keyword',
    ]);
  });

  test('[U1] a machine where nothing was raised needs a person, unless it is a node of a mesh', () => {
    const raised = (of: Parameters<typeof judgeRaised>[1]) => judgeRaised('/s/foundation.json', of);
    expect(raised({ kind: 'raised', id: 'abc' }).is).toBe('ok');
    expect(raised({ kind: 'not raised' })).toMatchObject({ is: 'wrong', next: ['mesh up', expect.any(String)] });
    expect(raised({ kind: 'not raised', node: 'beta' })).toMatchObject({ is: 'ok', facts: { node: 'beta' } });
    expect(raised({ kind: 'unreadable', why: 'it is not JSON' })).toMatchObject({
      is: 'wrong',
      says: 'it is not JSON',
    });
  });
});

describe('who works', () => {
  test('[A15] [C88] a queue that nobody works on is named, with the worker to start, and as a field', () => {
    expect(queue(seen([]), seen(false))).toMatchObject({
      is: 'wrong',
      says: expect.stringContaining('nothing is working on queue controller'),
      next: ['mesh work controller', 'mesh up'],
      facts: { nobodyWorks: true, taskQueue: 'controller', namespace: 'mesh', worker: 'mesh work controller' },
    });
  });

  test('[C88] a worker that was killed stays listed for minutes: an answer is the sign of life', () => {
    expect(queue(seen(['1@vm']), seen(false))).toMatchObject({
      is: 'wrong',
      says: expect.stringContaining('still lists 1@vm'),
    });
    expect(queue(seen(['1@vm']), seen(true))).toMatchObject({ is: 'ok', says: '1@vm works on it, and answers' });
    expect(queue(seen(['1@vm']), silent)).toMatchObject({
      is: 'wrong',
      says: expect.stringContaining('does not answer'),
    });
  });

  test('[C88] what cannot be told is unknown, and a queue without anybody is wrong whatever else cannot be told', () => {
    expect(queue(seen(['1@vm']), notAsked).is).toBe('unknown');
    expect(queue(notAsked, notAsked).is).toBe('unknown');
    expect(queue(notAsked, seen(true)).is).toBe('unknown');
    expect(queue(seen([]), notAsked).is).toBe('wrong');
    expect(queue(notAsked, seen(false)).is).toBe('wrong');
    // Its process lives and polls something else: another namespace, or another Temporal.
    expect(queue(seen([]), seen(true))).toMatchObject({
      is: 'wrong',
      says: expect.stringContaining('works elsewhere'),
    });
  });

  test('[C88] a worker on a queue that is none of the mesh’s is named where nobody works on ours', () => {
    const found = queue(seen([]), seen(false), ['deply']);
    expect(found.says).toContain('somebody works on deply');
    expect(found.facts).toMatchObject({ strays: ['deply'] });
    expect(queue(seen(['1@vm']), seen(true), ['deply']).is).toBe('ok');
  });

  test('[C88] [P3] a provisioner that waits for a controller is none that is missing', () => {
    const of = (lacks: boolean) =>
      judgeQueue(provisionerWorker, at, { pollers: seen(['2@vm']), answers: seen(false), strays: [], lacks });
    expect(of(true)).toMatchObject({ is: 'unknown', says: expect.stringContaining('no controller answers'), next: [] });
    expect(of(false)).toMatchObject({ is: 'wrong', next: ['mesh work provisioner', 'mesh up'] });
  });

  test('[C88] no two workers share a queue, and each is started by its role', () => {
    expect(new Set(meshWorkers.map((one) => one.queue)).size).toBe(meshWorkers.length);
    for (const { role, start } of meshWorkers) expect(start).toBe(`mesh work ${role}`);
  });

  test('[D10] a node whose host does not run is named with what starts it', () => {
    const where = '/s/nodes/alpha/node';
    expect(judgeHost('alpha', { where, next: ['mesh up'] }, 7)).toMatchObject({ is: 'ok', facts: { pid: 7 } });
    expect(judgeHost('alpha', { where, next: ['mesh up'] }, undefined)).toMatchObject({
      is: 'wrong',
      next: ['mesh up'],
    });
  });
});

test('[U1] all is well where nothing is wrong; what is unknown calls nobody', () => {
  const of = (is: Finding['is']): Finding => ({ part: 'this machine', of: 'x', is, says: 'y', next: [] });
  expect([isWell([]), isWell([of('ok'), of('unknown')]), isWell([of('ok'), of('wrong')])]).toEqual([true, true, false]);
});
