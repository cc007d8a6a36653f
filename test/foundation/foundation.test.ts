import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { connect, credsAuthenticator } from 'nats';
import pg from 'pg';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import {
  type Foundation,
  foundationParts,
  lowerFoundation,
  raiseFoundation,
  readFoundation,
  runningParts,
} from '../../src/foundation/foundation.ts';
import { natsPidFile } from '../../src/foundation/nats.ts';
import { readKeptAddresses } from '../../src/foundation/ports.ts';
import { isAlive, readPidFile, startedMark } from '../../src/foundation/processes.ts';
import { runningPostgres } from '../../src/foundation/postgres.ts';
import { temporalPidFile } from '../../src/foundation/temporal.ts';
import { watchedFolder } from '../support/foundation.ts';
import { startTypeScript } from '../support/program.ts';
import { newTestTrust, type TestTrust } from '../support/trust.ts';
import { until } from '../support/until.ts';

let folder: Awaited<ReturnType<typeof watchedFolder>>;
let stateDir: string;
let trust: TestTrust;
const quiet = (): void => undefined;

const raise = async (dir = stateDir, say: (line: string) => void = quiet): Promise<Foundation> => {
  const raised = await raiseFoundation({ stateDir: dir, env: process.env, trust, say });
  if (isRefusal(raised)) throw new Error(raised.what);
  return raised;
};
const lower = (dir = stateDir): Promise<readonly string[]> => lowerFoundation({ stateDir: dir, say: quiet });

/** The pids of all three servers; fails when one does not run. */
async function pids(dir = stateDir): Promise<Record<string, number | undefined>> {
  return {
    postgres: (await runningPostgres(path.join(dir, 'postgres')))?.pid,
    nats: (await readPidFile(natsPidFile(dir)))?.pid,
    temporal: (await readPidFile(temporalPidFile(dir)))?.pid,
  };
}

beforeAll(async () => {
  trust = await newTestTrust();
  folder = await watchedFolder('mesh-foundation-');
  stateDir = folder.stateDir;
});
afterAll(async () => {
  await lower();
  await folder.close();
});

const asController = async ({ postgres }: Foundation): Promise<pg.Client> => {
  const { host, port, database, user } = postgres;
  const client = new pg.Client({
    host,
    port,
    database,
    user,
    password: (await readFile(postgres.passwordFile, 'utf8')).trim(),
  });
  await client.connect();
  return client;
};
const onBus = ({ nats }: Foundation) => connect({ servers: nats.url, authenticator: credsAuthenticator(trust.creds) });

async function leaveSomethingIn(foundation: Foundation): Promise<void> {
  const sql = await asController(foundation);
  await sql.query('create table kept (word text)');
  await sql.query(`insert into kept values ('row')`);
  await sql.end();

  const bus = await onBus(foundation);
  await (await bus.jetstreamManager()).streams.add({ name: 'KEPT', subjects: ['kept'] });
  await bus.jetstream().publish('kept', 'message');
  await bus.close();

  const connection = await Connection.connect({ address: foundation.temporal.address });
  const client = new Client({ connection, namespace: foundation.temporal.namespace });
  await client.workflow.start('anything', {
    taskQueue: 'nobody',
    workflowId: 'kept',
    searchAttributes: { MeshNode: ['one'] },
  });
  await connection.close();
}

async function whatIsThere(foundation: Foundation): Promise<Record<string, unknown>> {
  const sql = await asController(foundation);
  const { rows } = await sql.query<{ word: string }>('select word from kept');
  await sql.end();

  const bus = await onBus(foundation);
  const message = await (await bus.jetstreamManager()).streams.getMessage('KEPT', { last_by_subj: 'kept' });
  await bus.close();

  const connection = await Connection.connect({ address: foundation.temporal.address });
  const client = new Client({ connection, namespace: foundation.temporal.namespace });
  const listed: string[] = [];
  await until(
    async () => {
      for await (const found of client.workflow.list({ query: `MeshNode = 'one'` })) listed.push(found.workflowId);
      return listed.length > 0;
    },
    { withinMs: 10_000, what: 'the workflow to be listed' },
  );
  await connection.close();
  return { row: rows[0]?.word, message: message.string(), workflow: listed[0] };
}
const allThree = { row: 'row', message: 'message', workflow: 'kept' };

describe('one mesh', () => {
  let first: Foundation;

  test('[U11] up raises PostgreSQL 18, NATS and Temporal with its UI, and they answer', async () => {
    first = await raise();
    expect(await runningParts(stateDir)).toEqual(foundationParts);
    const sql = await asController(first);
    expect((await sql.query<{ server_version: string }>('show server_version')).rows[0]?.server_version).toMatch(
      /^18\./,
    );
    expect((await sql.query<{ fsync: string }>('show fsync')).rows[0]?.fsync).toBe('on');
    await sql.end();
    expect((await fetch(first.temporal.uiUrl)).ok).toBe(true);
    await leaveSomethingIn(first);
    expect(await whatIsThere(first)).toEqual(allThree);
  });

  test('[U11] up on a mesh that is up says so and starts nothing', async () => {
    const before = await pids();
    const said: string[] = [];
    expect(await raise(stateDir, (line) => said.push(line))).toEqual(first);
    expect(said.toSorted()).toEqual([
      expect.stringMatching(/^NATS already runs at/),
      expect.stringMatching(/^PostgreSQL already runs at/),
      expect.stringMatching(/^Temporal already runs at/),
    ]);
    expect(await pids()).toEqual(before);
  });

  test('[S5] no password of the foundation is in an argument, an environment, a log or a configuration', async () => {
    const files = [first.postgres.passwordFile, first.postgres.superuserPasswordFile];
    const passwords = await Promise.all(files.map(async (file) => (await readFile(file, 'utf8')).trim()));
    for (const file of files) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.join(stateDir, 'secrets'))).mode & 0o777).toBe(0o700);
    const places = ['logs/postgresql.log', 'logs/nats.log', 'logs/temporal.log', 'nats/nats.conf', 'foundation.json'];
    const texts = places.map((place) => path.join(stateDir, place));
    for (const pid of Object.values(await pids())) texts.push(`/proc/${pid}/cmdline`, `/proc/${pid}/environ`);
    expect(texts).toHaveLength(11);
    for (const file of texts) {
      const text = await readFile(file, 'utf8');
      for (const password of passwords) expect(text.includes(password)).toBe(false);
      // What the caller's environment holds is none of a server's business.
      if (file.endsWith('environ')) expect(text).not.toContain('MESH_');
    }
  });

  test('[U11] a role whose password file was made anew logs in with the new one after the next up', async () => {
    await writeFile(first.postgres.passwordFile, 'another-password\n');
    await raise();
    const sql = await asController(first);
    await sql.end();
  });

  test('[U11] everything survives down and up: a row, a message in a stream, a workflow; [U13] at the same ports', async () => {
    const before = await pids();
    const kept = await readFile(path.join(stateDir, 'foundation.json'), 'utf8');
    expect(await lower()).toEqual(['temporal', 'nats', 'postgres']);
    expect(await runningParts(stateDir)).toEqual([]);
    for (const pid of Object.values(before)) expect(await startedMark(pid ?? 0)).toBeUndefined();
    expect(await lower()).toEqual([]);

    expect(await raise()).toEqual(first);
    expect(await readFile(path.join(stateDir, 'foundation.json'), 'utf8')).toBe(kept);
    expect(await whatIsThere(first)).toEqual(allThree);
  });

  test('[U11] servers that were killed are raised again, and nothing that was acknowledged is lost', async () => {
    for (const pid of Object.values(await pids())) if (pid !== undefined) process.kill(pid, 'SIGKILL');
    await until(async () => (await runningParts(stateDir)).length === 0, {
      withinMs: 5_000,
      what: 'the servers to be gone',
    });
    await raise();
    expect(await whatIsThere(first)).toEqual(allThree);
  });

  test('[U13] a kept port that another program took meanwhile is told, with what it was for, and is not moved', async () => {
    await lower();
    const taken = first.nats.port;
    const squatter = createServer().listen(taken, '127.0.0.1');
    await once(squatter, 'listening');
    const refused = await raiseFoundation({ stateDir, env: process.env, trust, say: quiet });
    expect(refused).toMatchObject({
      kind: 'port-taken',
      what: expect.stringContaining('NATS'),
      facts: { port: taken },
    });
    // What this attempt had started is down again.
    expect(await runningParts(stateDir)).toEqual([]);
    squatter.close();
    await once(squatter, 'close');
    expect((await raise()).nats.port).toBe(taken);
  });

  test('[U13] two meshes on one machine do not meet, and going down takes only one’s own', async () => {
    const other = await watchedFolder('mesh-foundation-');
    try {
      const [mine, its] = [await readFoundation(stateDir), await raise(other.stateDir)];
      const [myPorts, itsPorts] = await Promise.all(
        [stateDir, other.stateDir].map(async (dir) => Object.values((await readKeptAddresses(dir))?.ports ?? {})),
      );
      expect(new Set([...(myPorts ?? []), ...(itsPorts ?? [])]).size).toBe(12);
      expect(its.nodePrefix).not.toBe(mine?.nodePrefix);
      expect(its.id).not.toBe(mine?.id);
      const sql = await asController(its);
      expect((await sql.query(`select to_regclass('kept') as kept`)).rows).toEqual([{ kept: null }]);
      await sql.end();
      await lower(other.stateDir);
      expect(await runningParts(stateDir)).toEqual(foundationParts);
      expect(await whatIsThere(first)).toEqual(allThree);
    } finally {
      await lower(other.stateDir);
      await other.close();
    }
  });
});

describe('whoever raised it was killed', () => {
  const start = async () => {
    const trustFile = path.join(stateDir, 'trust.json');
    const { operatorJwt, systemAccount, preload } = trust;
    await writeFile(trustFile, JSON.stringify({ operatorJwt, systemAccount, preload }));
    const program = startTypeScript(path.join(import.meta.dirname, 'raise-program.ts'), [stateDir, trustFile]);
    let said = '';
    program.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
    program.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
    return { program, said: () => said };
  };

  test('[U11] the servers outlive it, and the next up takes them as they are', async () => {
    await lower();
    const { program, said } = await start();
    await until(() => said().includes('raised\n'), { withinMs: 40_000, what: 'the program to raise all' });
    const before = await pids();
    // All of its group, as a terminal that is closed does.
    process.kill(-(program.pid ?? NaN), 'SIGKILL');
    await once(program, 'exit');
    expect(await runningParts(stateDir)).toEqual(foundationParts);
    await raise();
    expect(await pids()).toEqual(before);
  });

  test.each(['started at', 'NATS', 'PostgreSQL', 'Temporal'])(
    '[U11] killed halfway, when it had said %j, it is healed by the next up',
    async (moment) => {
      await lower();
      const { program, said } = await start();
      await until(() => said().includes(moment), { withinMs: 40_000, what: `the program to say ${moment}` });
      program.kill('SIGKILL');
      await once(program, 'exit');
      const foundation = await raise();
      expect(await whatIsThere(foundation)).toEqual(allThree);
      for (const file of [natsPidFile(stateDir), temporalPidFile(stateDir)]) {
        const known = await readPidFile(file);
        expect(known !== undefined && (await isAlive(known))).toBe(true);
      }
    },
  );
});
