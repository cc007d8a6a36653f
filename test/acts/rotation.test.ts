/** A1 on a real store, bus, Temporal and controller process; the nodes are played, so that each order of things can be shown. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { pushId, rotationId, type PushResult, type RotationResult } from '../../src/domain/act/act.ts';
import type { PairKey } from '../../src/domain/credential/credential.ts';
import type { Grant } from '../../src/domain/declaration/declaration.ts';
import type { GranterEntry } from '../../src/domain/report/report.ts';
import { localName, moduleName, nodeName, provisionName } from '../../src/domain/words/names.ts';
import { CannotOpen, open } from '../../src/sealing/box.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { until } from '../support/until.ts';
import { raiseActingMesh, type ActingMesh } from './acting-mesh.ts';
import { addAll, consumerModule, databaseModule, place } from './catalogue.ts';
import { entryFor, grantersOf, grantsIn, secretsIn, type PlayedNode } from './played-node.ts';

let mesh: ActingMesh;
let alpha: PlayedNode;
let beta: PlayedNode;

beforeAll(async () => {
  mesh = await raiseActingMesh();
  await mesh.startController();
  alpha = await mesh.join('alpha');
  beta = await mesh.join('beta');
  await addAll(mesh.store, [databaseModule, consumerModule('notes', 'json'), consumerModule('ledger', 'password')]);
  await place(mesh.store, alpha.node, 'postgres');
  await place(mesh.store, beta.node, 'notes');
  await place(mesh.store, beta.node, 'ledger');
}, 120_000);
afterAll(() => mesh.close(), 60_000);

/** Both nodes are current before each test. */
beforeEach(async () => {
  const stops = [alpha.behave(), beta.behave()];
  await push();
  for (const stop of stops) stop();
}, 60_000);

const pair = (consumer: string): PairKey => ({
  provision: provisionName.parse('postgres-database'),
  providerNode: nodeName.parse('alpha'),
  providerModule: moduleName.parse('postgres'),
  consumerNode: nodeName.parse('beta'),
  consumerModule: moduleName.parse(consumer),
});
async function push(): Promise<PushResult> {
  return (
    await mesh.start('pushNodes', pushId(undefined, sha256Hex), { person: 'ada' })
  ).result() as Promise<PushResult>;
}
const rotate = (consumer: string, more: object = {}) => {
  const selection = { of: 'pairs' as const, pairs: [pair(consumer)] };
  return mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada', ...more });
};
const generations = (grants: readonly Grant[], consumer: string): readonly number[] =>
  grants
    .filter((grant) => grant.module === consumer)
    .map((grant) => grant.generation)
    .toSorted((one, other) => one - other);
const grantsOf = (told: { declaration: Parameters<typeof grantsIn>[0] }): readonly Grant[] =>
  grantsIn(told.declaration).flatMap((list) => list.grants);
const fileOf = (told: { declaration: Parameters<typeof secretsIn>[0] }, consumer: string) =>
  secretsIn(told.declaration).find((secret) => secret.module === consumer);

describe('a rotation with overlap', () => {
  test('[A1] [S11] adds, moves, then takes: never a moment in which the consumer holds what is not granted', async () => {
    const before = await beta.told();
    const handle = await rotate('notes');

    // The provider is told first; the consumer still has the old one, which is still granted.
    const both = await alpha.untilTold('two generations', (told) => generations(grantsOf(told), 'notes').length === 2);
    expect((await beta.told())?.digest).toBe(before?.digest);
    const [old, fresh] = generations(grantsOf(both), 'notes');
    expect(fresh).toBe((old ?? 0) + 1);
    const logins = grantsOf(both)
      .filter((grant) => grant.module === 'notes')
      .map((grant) => grant.login);
    expect(new Set(logins).size).toBe(2);

    // Applied, but the login does not exist yet: nothing moves.
    const granter = (state: GranterEntry['state'], seen: number) => (grants: readonly Grant[]) =>
      grants.map((grant) =>
        entryFor(grant, grant.generation === fresh && grant.module === 'notes' ? { state, seen } : {}),
      );
    await alpha.report({ granters: grantersOf(both.declaration, granter('fault', 0)) });
    await waitsFor(handle.firstExecutionRunId, /alpha to grant postgres-database to notes@beta/);
    expect((await beta.told())?.digest).toBe(before?.digest);

    // The login exists: now the consumer is told.
    await alpha.report({ granters: grantersOf(both.declaration, granter('granted', 0)) });
    const moved = await beta.untilTold('its new credential', (told) => told.digest !== before?.digest);
    expect(fileOf(moved, 'notes')?.facts?.login).toBe(
      logins.find((login) => login !== (before && fileOf(before, 'notes')?.facts?.login)),
    );

    // It holds it, but was not seen with it: the old one stays.
    await beta.report();
    await waitsFor(handle.firstExecutionRunId, /notes@beta to connect/);
    expect(generations(grantsOf(await toldOf(alpha)), 'notes')).toEqual([old, fresh]);

    // Seen: the old one goes.
    await alpha.report({ granters: grantersOf(both.declaration, granter('granted', 1)) });
    const after = await alpha.untilTold('one generation', (told) => generations(grantsOf(told), 'notes').length === 1);
    expect(generations(grantsOf(after), 'notes')).toEqual([fresh]);
    await alpha.report({ granters: grantersOf(after.declaration, granter('granted', 1)) });

    const result = (await handle.result()) as RotationResult;
    expect(result).toMatchObject({
      committed: true,
      credentials: 1,
      overlapping: 1,
      windowMs: 0,
      sessionsEnded: 0,
      cutOff: [],
    });
    expect(await mesh.ask('select * from mesh.credential_locks')).toEqual([]);
  });

  test('[S2] both ends open the same new value, each with its own key, and nobody else does', async () => {
    const stops = [alpha.behave(), beta.behave()];
    await (await rotate('notes')).result();
    for (const stop of stops) stop();
    const grant = grantsOf(await toldOf(alpha)).find((one) => one.module === 'notes');
    const provided = secretsIn((await toldOf(alpha)).declaration).find((secret) =>
      secret.path.endsWith(`/${grant?.file}`),
    );
    const held = fileOf(await toldOf(beta), 'notes');
    const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
    const provider = open(provided?.sealed ?? '', alpha.key).reveal(text);
    expect(open(held?.sealed ?? '', beta.key).reveal(text)).toBe(provider);
    expect(provider).toMatch(/^[\w-]{43}$/);
    expect(() => open(held?.sealed ?? '', alpha.key)).toThrow(CannotOpen);
  });

  test('[A1] a controller that is killed and started again finishes what it had committed', async () => {
    const handle = await rotate('notes');
    await alpha.untilTold('two generations', (told) => generations(grantsOf(told), 'notes').length === 2);
    await mesh.killController();
    await mesh.startController();
    const stops = [alpha.behave(), beta.behave()];
    expect((await handle.result()) as RotationResult).toMatchObject({ committed: true, credentials: 1 });
    for (const stop of stops) stop();
    expect(generations(grantsOf(await toldOf(alpha)), 'notes')).toHaveLength(1);
  }, 90_000);

  test('[S11] a limit that passes withdraws the old one, and the result says who was cut off', async () => {
    const stops = [
      alpha.behave({ granter: (grants) => grants.map((grant) => entryFor(grant, { seen: 0 })) }),
      beta.behave(),
    ];
    const result = (await (await rotate('notes', { limitMs: 500 })).result()) as RotationResult;
    for (const stop of stops) stop();
    expect(result.cutOff).toEqual(['alpha/postgres-database/beta/notes']);
    expect(generations(grantsOf(await toldOf(alpha)), 'notes')).toHaveLength(1);
  });
});

describe('a rotation without overlap', () => {
  test('[A1] [S11] tells both ends at once, keeps the login, and states the window', async () => {
    const before = grantsOf(await toldOf(alpha)).find((grant) => grant.module === 'ledger');
    const [toldA, toldB] = [await toldOf(alpha), await toldOf(beta)];
    const handle = await rotate('ledger');
    const provider = await alpha.untilTold('the new password', (told) => told.digest !== toldA.digest);
    await beta.untilTold('the new password', (told) => told.digest !== toldB.digest);
    const after = grantsOf(provider).filter((grant) => grant.module === 'ledger');
    expect(after).toEqual([
      { ...before, generation: (before?.generation ?? 0) + 1, file: expect.stringContaining('ledger') },
    ]);

    await alpha.report({
      granters: grantersOf(provider.declaration, (grants) => grants.map((grant) => entryFor(grant))),
    });
    await waitsFor(handle.firstExecutionRunId, /^beta to report/);
    await beta.report();
    const result = (await handle.result()) as RotationResult;
    expect(result).toMatchObject({ committed: true, overlapping: 0 });
    expect(result.windowMs).toBeGreaterThan(0);
  });
});

describe('all or nothing', () => {
  test('[A1.0] [A11] every credential of a provider rotates in one act, in as many steps as one does', async () => {
    const stops = [alpha.behave(), beta.behave()];
    const one = await rotate('notes');
    await one.result();
    const selection = {
      of: 'provider' as const,
      node: alpha.node,
      provision: provisionName.parse('postgres-database'),
    };
    const all = await mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada' });
    expect((await all.result()) as RotationResult).toMatchObject({ credentials: 2, overlapping: 1 });
    for (const stop of stops) stop();
    expect(await activitiesOf(all)).toEqual(await activitiesOf(one));
    expect((await activitiesOf(one)).length).toBeLessThanOrEqual(8);
  });

  test('[A1.0] two acts over one credential are impossible, however they were asked for', async () => {
    const first = await rotate('notes');
    await alpha.untilTold('two generations', (told) => generations(grantsOf(told), 'notes').length === 2);
    const selection = {
      of: 'provider' as const,
      node: alpha.node,
      provision: provisionName.parse('postgres-database'),
    };
    const second = await mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada' });
    expect(await refusalOf(second)).toMatchObject({ kind: 'credential-locked' });
    const stops = [alpha.behave(), beta.behave()];
    await first.result();
    for (const stop of stops) stop();
  });

  test('[S11] what cannot be resolved is refused: nothing is written, nothing sent, the old credential works on', async () => {
    const rows = 'select * from mesh.pair_secrets order by 1, 2, 3, 4, 5, 6, 7';
    const [before, sent] = [
      await mesh.ask(rows),
      await mesh.ask('select node, digest, number from mesh.sent_declarations order by 1'),
    ];
    const selection = { of: 'pairs' as const, pairs: [{ ...pair('notes'), local: localName.parse('nowhere') }] };
    const handle = await mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada' });
    expect(await refusalOf(handle)).toMatchObject({ kind: 'unknown-credential' });
    expect(await mesh.ask(rows)).toEqual(before);
    expect(await mesh.ask('select node, digest, number from mesh.sent_declarations order by 1')).toEqual(sent);
    expect(await mesh.ask('select * from mesh.credential_locks')).toEqual([]);
  });
});

test('[A11] [S5] no history holds a value, sealed or not', async () => {
  const stops = [alpha.behave(), beta.behave()];
  const handle = await rotate('notes');
  await handle.result();
  for (const stop of stops) stop();
  const sealed = [...secretsIn((await toldOf(alpha)).declaration), ...secretsIn((await toldOf(beta)).declaration)].map(
    (secret) => secret.sealed,
  );
  const payloads = (await payloadsOf(handle)).join('\n');
  expect(payloads).toContain('alpha');
  for (const blob of sealed) expect(payloads).not.toContain(blob);
});

async function toldOf(node: PlayedNode) {
  const told = await node.told();
  if (told === undefined) throw new Error(`${node.node} was told nothing`);
  return told;
}
async function waitsFor(act: string, words: RegExp): Promise<void> {
  await until(
    async () => {
      const [row] = await mesh.ask(`select detail->'waitsFor' as waits from mesh.acts where act = '${act}'`);
      return Array.isArray(row?.['waits']) && row['waits'].some((one) => words.test(String(one)));
    },
    { withinMs: 20_000, what: `the act to wait for ${words.source}` },
  );
}
async function activitiesOf(handle: Awaited<ReturnType<ActingMesh['start']>>): Promise<readonly string[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
}
async function payloadsOf(handle: Awaited<ReturnType<ActingMesh['start']>>): Promise<readonly string[]> {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (value instanceof Uint8Array) found.push(Buffer.from(value).toString());
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(look);
  };
  look((await handle.fetchHistory()).events);
  return found;
}
async function refusalOf(handle: Awaited<ReturnType<ActingMesh['start']>>): Promise<unknown> {
  const failed: unknown = await handle.result().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(failed instanceof WorkflowFailedError)) throw new Error(`it did not fail: ${String(failed)}`);
  const cause = failed.cause?.cause;
  if (!(cause instanceof ApplicationFailure)) throw new Error('it failed otherwise', { cause: failed });
  expect(cause.type).toBe('RotationRefused');
  return cause.details?.[0];
}
