/**
 * A1 with the real granter on a real PostgreSQL, when the server or the way to it fails: it refuses values (C34), it is away,
 * the connection is cut in the middle of a statement, the store takes no writes (C33). Both forms of a credential, each time.
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import pg from 'pg';
import { z } from 'zod';

import { rotationResult } from '../../src/domain/act/act.ts';
import { atStep } from '../../cli/acts/trying.ts';
import type { Trying } from '../../cli/bodies/trying.ts';
import { pushId, rotationId } from '../../src/domain/act/act.ts';
import { moduleName, provisionName } from '../../src/domain/words/names.ts';
import { open } from '../../src/sealing/box.ts';
import { status } from '../../src/operations/plan/status.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { raiseActingMesh, type ActingMesh } from '../acts/acting-mesh.ts';
import { addAll, consumerModule, databaseModule, place } from '../acts/catalogue.ts';
import { secretsIn, type PlayedNode } from '../acts/played-node.ts';
import { asJson, runMesh } from '../cli/run-mesh.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';
import { raiseGate, type Gate } from './gate.ts';
import { failure, grantDirectory, logIn, startGranter, type GrantDirectory, type RunningGranter } from './granting.ts';
import { grantAsTold, type Held } from './granting-node.ts';
import { needsADigit } from './password-rule.ts';

const scenario = z
  .object({ runs: z.array(z.object({ n: z.int(), generator: z.array(z.string()) })) })
  .parse(JSON.parse(readFileSync('test/cases/C34-rotation-retried-for-ever/scenario.json', 'utf8')));
/** A value of the case, in the form that values have: 43 characters that are 32 bytes. */
const valuesOf = (run: number): readonly string[] =>
  (scenario.runs.find(({ n }) => n === run)?.generator ?? []).map((text) => `${text.padEnd(42, 'a')}c`);

const forms = ['notes', 'ledger'] as const;
type Consumer = (typeof forms)[number];
const setsPassword = /^alter role .* password '/;

let mesh: ActingMesh;
let controller: ReturnType<typeof startTypeScript>;
let alpha: PlayedNode;
let beta: PlayedNode;
let gate: Gate;
let grants: GrantDirectory;
let granter: RunningGranter;
let granting: ReturnType<typeof grantAsTold>;
const statements: string[] = [];
let consuming: { readonly failures: string[]; stop(): Promise<void> };

/** The next values that the controller makes; then it is chance again. */
const scripted = (values: readonly string[]) =>
  writeFile(path.join(mesh.stateDir, 'values'), values.map((value) => `${value}\n`).join(''));

beforeAll(async () => {
  mesh = await raiseActingMesh();
  await scripted([]);
  controller = startTypeScript(fileURLToPath(new URL('scripted-controller.ts', import.meta.url)), [
    mesh.stateDir,
    path.join(mesh.stateDir, 'values'),
  ]);
  alpha = await mesh.join('alpha');
  beta = await mesh.join('beta');
  const [provides] = databaseModule.provides;
  await addAll(mesh.store, [
    { ...databaseModule, provides: [{ ...provides, drain: '1s' }] },
    consumerModule('notes', 'json'),
    consumerModule('ledger', 'password'),
  ]);
  await place(mesh.store, alpha.node, 'postgres');
  for (const module of forms) await place(mesh.store, beta.node, module);
  gate = await raiseGate(mesh.foundation.postgres);
  grants = await grantDirectory();
  const rule = needsADigit(grants);
  granter = startGranter(mesh, grants, {
    port: gate.port,
    async beforeStatement(database, sql) {
      await rule(database, sql);
      statements.push(sql);
    },
  });
  granting = grantAsTold(alpha, grants);
  beta.behave();
  await (await mesh.start('pushNodes', pushId(undefined, sha256Hex), { person: 'ada' })).result();
  for (const module of forms)
    await until(async () => (await failure(enter(await held(module)))) === undefined, {
      withinMs: 30_000,
      what: `${module} to have a login`,
    });
  consuming = connectAllTheTime();
}, 120_000);
afterEach(async () => {
  expect(consuming.failures).toEqual([]);
  expect(await mesh.ask('select * from mesh.credential_locks')).toEqual([]);
  // Whatever happened: what is recorded for each consumer works, and it alone.
  for (const module of forms) expect([module, await failure(enter(await held(module)))]).toEqual([module, undefined]);
});
afterAll(async () => {
  await consuming.stop();
  await granting.stop();
  await granter.stop();
  await gate.end();
  await grants.remove();
  controller.kill('SIGKILL');
  await mesh.close();
}, 60_000);

/** What a consumer holds now. */
async function held(module: string): Promise<Held> {
  const told = await beta.told();
  const file = told === undefined ? undefined : secretsIn(told.declaration).find((one) => one.module === module);
  if (file === undefined) throw new Error(`${module} holds nothing`);
  const password = open(file.sealed, beta.key).reveal((bytes) => Buffer.from(bytes).toString());
  const database = `beta.${module}`;
  return { login: file.facts?.login ?? `${database}_a`, database, password };
}
const enter = async ({ login, password, database }: Held): Promise<void> =>
  (await logIn(mesh, login, password, database)).end();

/** The consumer whose form lets both logins work: it reads its file and logs in, without end, and is never refused. */
function connectAllTheTime(): typeof consuming {
  const failures: string[] = [];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const now = await held('notes');
      const failed = await failure(enter(now));
      if (failed !== undefined) failures.push(`${now.login}: ${failed}`);
      await pause(100);
    }
  })();
  return {
    failures,
    async stop() {
      isOver = true;
      await running;
    },
  };
}

const rotate = (module: Consumer) => {
  const selection = {
    of: 'pairs' as const,
    pairs: [
      {
        provision: provisionName.parse('postgres-database'),
        providerNode: alpha.node,
        providerModule: moduleName.parse('postgres'),
        consumerNode: beta.node,
        consumerModule: moduleName.parse(module),
      },
    ],
  };
  return mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada' });
};
const generations = async (module: Consumer): Promise<readonly string[]> =>
  (
    await mesh.ask(
      `select generation || ' ' || stage as g from mesh.pair_secrets where consumer_module = '${module}' order by generation`,
    )
  ).map((row) => String(row['g']));
const live = async (module: Consumer): Promise<readonly string[]> =>
  (await generations(module)).filter((one) => !one.endsWith('withdrawn'));
const passwordsSet = (module: Consumer, from: number): number =>
  statements.slice(from).filter((sql) => setsPassword.test(sql) && sql.includes(`"beta.${module}_`)).length;

async function waits(act: string, words: RegExp): Promise<string> {
  let said = '';
  await until(
    async () => {
      const [row] = await mesh.ask(`select detail->'waitsFor' as waits from mesh.acts where act = '${act}'`);
      said =
        z
          .array(z.string())
          .catch([])
          .parse(row?.['waits'])
          .find((one) => words.test(one)) ?? '';
      return said !== '';
    },
    { withinMs: 30_000, what: `the act to wait for ${words.source}` },
  );
  return said;
}
async function refusalOf(handle: Awaited<ReturnType<typeof rotate>>): Promise<unknown> {
  const failed: unknown = await handle.result().catch((error: unknown) => error);
  if (!(failed instanceof WorkflowFailedError)) throw new Error(`it did not fail: ${JSON.stringify(failed)}`);
  const cause = failed.cause?.cause;
  if (!(cause instanceof ApplicationFailure)) throw new Error('it failed otherwise', { cause: failed });
  expect(cause.type).toBe('RotationRefused');
  return cause.details?.[0];
}

describe.each(forms)('a server that has a rule for passwords, and %s', (module) => {
  test('[C34] one that refuses the first value gets another, in the same act', async () => {
    const [refused, taken] = valuesOf(1);
    await scripted([refused ?? '', taken ?? '']);
    const before = await generations(module);
    const handle = await rotate(module);
    expect(rotationResult.parse(await handle.result())).toMatchObject({ committed: true, credentials: 1, cutOff: [] });
    expect((await held(module)).password).toBe(taken);
    expect(await generations(module)).toHaveLength(before.length + 2);
    expect(await live(module)).toHaveLength(1);
    const events = await mesh.ask(
      `select detail->>'reason' as reason from mesh.events where kind = 'credential-refused' and detail->>'act' = '${handle.firstExecutionRunId}'`,
    );
    expect(events).toEqual([{ reason: expect.stringContaining('password must contain a digit (22023)') }]);
  }, 60_000);

  test('[C34] [S11] one that refuses every value: five are tried, then all is as before, and the act says why; the next one begins afresh', async () => {
    const values = valuesOf(2);
    await scripted(values);
    const old = await held(module);
    const before = await generations(module);
    const handle = await rotate(module);
    expect(await refusalOf(handle)).toMatchObject({
      kind: 'value-refused',
      what: expect.stringContaining('password must contain a digit (22023)'),
      facts: { credential: `alpha/postgres-database/beta/${module}`, tried: 5 },
    });
    const left = readFileSync(path.join(mesh.stateDir, 'values'), 'utf8').trim().split('\n');
    expect(values.length - left.length).toBe(5);
    const [row] = await mesh.ask(
      `select stage, detail->>'reason' as reason from mesh.acts where act = '${handle.firstExecutionRunId}'`,
    );
    expect(row).toMatchObject({ stage: 'failed', reason: expect.stringContaining('must contain a digit') });
    expect(await held(module)).toEqual(old);
    // The five, and the value of before under the highest number.
    expect(await generations(module)).toHaveLength(before.length + 6);
    expect((await generations(module)).at(-1)).toMatch(/ current$/);
    expect(await live(module)).toHaveLength(1);
    await scripted([]);
    expect(rotationResult.parse(await (await rotate(module)).result())).toMatchObject({ committed: true });
    expect((await held(module)).password).not.toBe(old.password);
  }, 90_000);
});

/** What `mesh status` says that cannot be granted to a module. */
async function ungranted(module: string) {
  const said = await status(mesh.store, sha256Hex, Date.now());
  return said.ungranted.find((one) => one.path?.endsWith(`/${module}`));
}

test.each(['json', 'password'] as const)(
  '[C34] [S8] a first credential of form %s that is refused: the push has done its part, status says that nobody can log in, and its command cures it',
  async (form) => {
    const module = `first-${form}`;
    await addAll(mesh.store, [consumerModule(module, form)]);
    const [refused = ''] = valuesOf(1);
    await scripted([refused]);
    await place(mesh.store, beta.node, module);
    const pushed: unknown = await (
      await mesh.start('pushNodes', pushId(undefined, sha256Hex), { person: 'ada' })
    ).result();
    expect(pushed).toMatchObject({ secretsMade: 1, applied: 2, failedCount: 0 });
    expect((await held(module)).password).toBe(refused);
    await until(async () => (await ungranted(module)) !== undefined, {
      withinMs: 30_000,
      what: 'the status to say it',
    });
    expect(await failure(enter(await held(module)))).toBe('28P01');
    const said = await ungranted(module);
    expect(said).toMatchObject({
      to: `${module}@beta`,
      reason: expect.stringContaining('password must contain a digit (22023)'),
    });
    const shown = await runMesh(['status', '--json', '--state', mesh.stateDir]);
    expect({ code: shown.code, body: asJson(shown.stdout) }).toMatchObject({ code: 6, body: { ungranted: [said] } });
    const [command = ''] = said?.next ?? [];
    const again = [...command.split(' ').slice(1), '--json', '--state', mesh.stateDir];
    // A rule that none of five values keeps: it ends, and says that nothing works now either.
    await scripted(valuesOf(2));
    const inVain = await runMesh(again);
    expect({ code: inVain.code, body: asJson(inVain.stdout) }).toMatchObject({
      code: 3,
      body: { kind: 'value-refused', facts: { tried: 5 } },
    });
    expect((await held(module)).password).toBe(refused);
    await scripted([]);
    const rotated = runMesh(again);
    // The consumer reads its file and comes in with what stands there then.
    await until(async () => (await failure(enter(await held(module)))) === undefined, {
      withinMs: 30_000,
      what: 'its new credential to work',
    });
    expect(asJson((await rotated).stdout)).toMatchObject({ schema: 'mesh.rotation', committed: true, credentials: 1 });
    await until(async () => (await ungranted(module)) === undefined, { withinMs: 30_000, what: 'it to be well' });
  },
  120_000,
);

test('[C34] a server that is away: the act keeps waiting, says since when and why, and is done with the same value once it is back', async () => {
  const [value] = valuesOf(3);
  await scripted([value ?? '']);
  const before = await generations('notes');
  gate.close();
  const from = gate.triedAt.length;
  const handle = await rotate('notes');
  const said = await waits(handle.firstExecutionRunId, /the server at 127\.0\.0\.1:\d+.*ECONNRESET.*\(since \d{4}-/);
  expect(said).toContain(`alpha to grant postgres-database to notes@beta`);
  await until(() => gate.triedAt.length - from >= 5, { withinMs: 30_000, what: 'it to be tried again and again' });
  gate.open();
  expect(rotationResult.parse(await handle.result())).toMatchObject({ committed: true });
  expect((await held('notes')).password).toBe(value);
  expect(await generations('notes')).toHaveLength(before.length + 1);
}, 60_000);

describe.each(forms)('a connection that is cut while a password is set, and %s', (module) => {
  test.each([
    {
      n: 4,
      of: 'the answer is lost, and it took effect',
      at: /commit/,
      after: /alter role .* password '/,
      cut: 'answer lost',
      sets: 1,
    },
    { n: 5, of: 'it never got there', at: /alter role .* password '/, cut: 'lost on the way', sets: 2 },
  ] as const)(
    '[C33] n$n: $of: the granter finds out what the server has, and goes on with the same value',
    async (cut) => {
      const before = await generations(module);
      const from = statements.length;
      const happened = gate.cutAt(cut);
      const handle = await rotate(module);
      await happened;
      // What was, and what is meant to be, are both recorded.
      expect((await generations(module)).length).toBe(before.length + 1);
      expect(rotationResult.parse(await handle.result())).toMatchObject({ committed: true, credentials: 1 });
      expect(await generations(module)).toHaveLength(before.length + 1);
      expect(await live(module)).toHaveLength(1);
      expect(passwordsSet(module, from)).toBe(cut.sets);
    },
    60_000,
  );
});

/** The server itself, as its superuser: what the store may write there. */
async function onServer(...sql: readonly string[]): Promise<void> {
  const { host, port, superuserPasswordFile } = mesh.foundation.postgres;
  const password = readFileSync(superuserPasswordFile, 'utf8').trim();
  const client = new pg.Client({ host, port, user: 'postgres', password, database: 'mesh' });
  await client.connect();
  try {
    for (const one of ['set default_transaction_read_only = off', ...sql]) await client.query(one);
  } finally {
    await client.end();
  }
}

/** What both commands say, once each of them says that something has not begun. */
async function inStep<Said extends { readonly body: Record<string, unknown> }>(
  commands: readonly string[],
  ask: (command: string) => Promise<Said>,
): Promise<ReadonlyMap<string, Said>> {
  const said = new Map<string, Said>();
  for (const command of commands)
    await until(
      async () => {
        const now = await ask(command);
        said.set(command, now);
        return now.body['store'] !== undefined;
      },
      { withinMs: 20_000, what: `mesh ${command} to say that the store takes no writes` },
    );
  return said;
}

describe('a store that refuses writes', () => {
  test('[C33] n7: from the start: nothing is changed anywhere, and once it takes them the rotation is made', async () => {
    const [before, from] = [await generations('notes'), statements.length];
    const old = await held('notes');
    await onServer('alter system set default_transaction_read_only = on', 'select pg_reload_conf()');
    try {
      const handle = await rotate('notes');
      // Nothing of it can be written down, and all who ask are told what is wrong all the same.
      const ofStore = expect.stringMatching(
        /^the store at .* takes no writes: cannot execute \w+ in a read-only transaction/,
      );
      const stated = await inStep(['status', 'acts'], async (command) => {
        const { code, stdout } = await runMesh([command, '--json', '--state', mesh.stateDir]);
        return { code, body: asJson(stdout) };
      });
      for (const [command, { code, body }] of stated)
        expect({ command, code, body }).toMatchObject({
          code: command === 'status' ? 6 : 0,
          body: {
            store: { what: ofStore },
            unbegun: [{ workflowId: handle.workflowId, trying: { step: 'prepareRotation' } }],
          },
        });
      const wanted = 'secret rotate beta/notes --timeout 6s --json --state'.split(' ');
      const asked = await runMesh([...wanted, mesh.stateDir]);
      expect({ code: asked.code, body: asJson(asked.stdout) }).toMatchObject({
        code: 5,
        body: {
          kind: 'wait-timed-out',
          why: ofStore,
          next: [expect.stringContaining('writable again'), expect.anything()],
        },
      });
      expect((await handle.describe()).status.name).toBe('RUNNING');
      expect(await generations('notes')).toEqual(before);
      expect(passwordsSet('notes', from)).toBe(0);
      expect(await held('notes')).toEqual(old);
      await onServer('alter system reset default_transaction_read_only', 'select pg_reload_conf()');
      expect(rotationResult.parse(await handle.result())).toMatchObject({ committed: true });
    } finally {
      await onServer('alter system reset default_transaction_read_only', 'select pg_reload_conf()');
    }
    expect(await generations('notes')).toHaveLength(before.length + 1);
  }, 60_000);

  test('[C33] [C55] [A13] n8: just when the consumers’ turn is recorded: the old one works on, and then it is the same value', async () => {
    const before = await generations('notes');
    const old = await held('notes');
    await onServer(
      `create function mesh.no_space() returns trigger language plpgsql as $f$ begin
         raise exception using errcode = '53100', message = 'could not extend file: No space left on device'; end $f$`,
      `create trigger no_space before update on mesh.pair_secrets for each row when (new.stage = 'current') execute function mesh.no_space()`,
    );
    const handle = await rotate('notes');
    try {
      // What is tried, how often it failed, why, and when it is tried again: as `act show` has it, long before two minutes.
      const seen: Trying[] = [];
      await until(
        async () => {
          const { trying } = await atStep(mesh.temporal, handle.workflowId, handle.firstExecutionRunId);
          if (trying?.nextTryAt !== undefined && trying.failed >= 4) seen.push(trying);
          return seen.length > 0;
        },
        { withinMs: 30_000, what: 'the step to be tried again' },
      );
      expect(seen).toEqual([
        {
          step: 'tellConsumers',
          failed: expect.any(Number),
          lastError: expect.stringContaining('could not extend file: No space left on device'),
          nextTryAt: expect.stringMatching(/Z$/),
        },
      ]);
      expect(await live('notes')).toHaveLength(2);
      expect(await held('notes')).toEqual(old);
    } finally {
      await onServer('drop function if exists mesh.no_space cascade');
    }
    expect(rotationResult.parse(await handle.result())).toMatchObject({ committed: true });
    expect(await generations('notes')).toHaveLength(before.length + 1);
  }, 60_000);
});
