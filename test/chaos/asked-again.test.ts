/** What is asked for a second time, by the built command: after nodes joined, after the first was cut off, on other terms (C89, A16). */
import { copyFile, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { raiseActingMesh, type ActingMesh } from '../acts/acting-mesh.ts';
import { addAll, consumerModule, databaseModule, place } from '../acts/catalogue.ts';
import type { PlayedNode } from '../acts/played-node.ts';
import { asJson, runMesh, startMesh } from '../cli/run-mesh.ts';
import { until } from '../support/until.ts';

let mesh: ActingMesh;
let alpha: PlayedNode;
let beta: PlayedNode;
let round = 0;

async function command(...args: string[]) {
  const { code, stdout } = await runMesh([...args, '--json', '--state', mesh.stateDir]);
  return { code, body: asJson(stdout) };
}
/** The command, once it has said that the act was asked for; it goes on waiting. */
async function asked(...args: string[]) {
  const waiting = startMesh([...args, '--json', '--state', mesh.stateDir]);
  await until(() => /(?:push|rotate)\//.test(waiting.stderr()), {
    withinMs: 30_000,
    what: `${args.join(' ')} to be asked`,
  });
  return waiting;
}
const motd = (content: string) => ({
  module: 'motd',
  version: '1.0.0',
  resources: [{ kind: 'file', path: '/etc/motd', content }],
});
const isTold = async (node: PlayedNode, text: string): Promise<boolean> =>
  JSON.stringify((await node.told())?.declaration ?? {}).includes(text);
async function waits(workflowId: string, words: string): Promise<void> {
  await until(
    async () =>
      JSON.stringify(
        await mesh.ask(`select detail from mesh.acts where workflow_id = '${workflowId}' and ended_at is null`),
      ).includes(words),
    { withinMs: 30_000, what: `${workflowId} to wait for ${words}` },
  );
}
const allActs = (kind: string) => mesh.ask(`select act from mesh.acts where kind = '${kind}' order by started_at`);
const generations = () => mesh.ask(`select generation from mesh.pair_secrets where consumer_module = 'notes'`);

beforeAll(async () => {
  mesh = await raiseActingMesh();
  await mesh.startController();
  alpha = await mesh.join('alpha');
  beta = await mesh.join('beta');
  await addAll(mesh.store, [databaseModule, consumerModule('notes', 'json'), motd('0')]);
  await place(mesh.store, alpha.node, 'postgres');
  await place(mesh.store, beta.node, 'notes');
  await place(mesh.store, beta.node, 'motd');
}, 120_000);
afterAll(() => mesh.close(), 60_000);
/** All is as declared, and then something is not, which beta will not answer. Whoever joins goes on answering. */
beforeEach(async () => {
  const stops = [alpha.behave(), beta.behave()];
  expect((await command('push')).code).toBe(0);
  for (const stop of stops) stop();
  round += 1;
  await addAll(mesh.store, [motd(`round ${round}`)]);
}, 60_000);

describe('a push that is asked for again', () => {
  test('[A16] [C89] of all nodes: takes those that joined meanwhile, though the first still waits', async () => {
    const first = await asked('push');
    await waits('push/all', 'beta to report');
    const gamma = await mesh.join('gamma');
    gamma.behave();
    await place(mesh.store, gamma.node, 'motd');
    const second = await asked('push');
    await until(() => second.stderr().includes('Joined'), { withinMs: 20_000, what: 'it to be joined' });
    expect(await isTold(gamma, 'motd')).toBe(false);
    const stops = [alpha.behave(), beta.behave()];
    expect([await first.ended, await second.ended]).toEqual([0, 0]);
    expect(asJson(second.stdout())).toMatchObject({ attached: true, applied: 3, failedCount: 0, unresolvableCount: 0 });
    expect(await isTold(gamma, `round ${round}`)).toBe(true);
    for (const stop of stops) stop();
  }, 90_000);

  test('[D7] of what is behind: takes those that joined meanwhile, and does not wait for whom another push waits', async () => {
    const first = await asked('push');
    await waits('push/all', 'beta to report');
    const delta = await mesh.join('delta');
    delta.behave();
    await place(mesh.store, delta.node, 'motd');
    expect(await command('push', '--behind')).toMatchObject({
      code: 0,
      body: { attached: false, sent: 1, applied: 1 },
    });
    expect(await isTold(delta, `round ${round}`)).toBe(true);
    const stops = [alpha.behave(), beta.behave()];
    expect(await first.ended).toBe(0);
    for (const each of stops) each();
  }, 90_000);

  test('[A7] of nodes by name: one that had not joined is refused, and taken once it has', async () => {
    const invited = await mesh.ask(`select 1 from mesh.nodes where node = 'epsilon'`);
    expect(invited).toEqual([]);
    expect((await command('push', 'beta', 'epsilon')).code).toBe(4);
    const epsilon = await mesh.join('epsilon');
    epsilon.behave();
    const stop = beta.behave();
    await place(mesh.store, epsilon.node, 'motd');
    expect(await command('push', 'beta', 'epsilon')).toMatchObject({ code: 0, body: { applied: 2 } });
    expect(await isTold(epsilon, `round ${round}`)).toBe(true);
    stop();
  }, 90_000);
});

describe('a request that was made before', () => {
  test('[C89] cut off before its answer and made again: one act, one new credential, and the answer is of that act', async () => {
    const before = (await generations()).length;
    const cut = await asked('secret', 'rotate', 'beta/notes');
    await waits('rotate/alpha/postgres-database/beta/notes', 'alpha to report');
    cut.child.kill('SIGKILL');
    await cut.ended;
    const again = await asked('secret', 'rotate', 'beta/notes');
    await until(() => again.stderr().includes('Joined'), { withinMs: 20_000, what: 'it to be joined' });
    const stops = [alpha.behave(), beta.behave()];
    expect(await again.ended).toBe(0);
    for (const stop of stops) stop();
    const acts = await allActs('rotate');
    expect(acts).toEqual([{ act: asJson(again.stdout())['act'] }]);
    expect(await generations()).toHaveLength(before + 1);

    // Long after it has ended it is another request, with an act of its own; the first still tells its outcome and its date.
    const others = [alpha.behave(), beta.behave()];
    const later = await command('secret', 'rotate', 'beta/notes');
    for (const stop of others) stop();
    expect(later).toMatchObject({ code: 0, body: { attached: false } });
    expect(await generations()).toHaveLength(before + 2);
    expect((await command('act', 'show', String(acts[0]?.['act']))).body).toMatchObject({
      stage: 'closed',
      endedAt: expect.stringMatching(/Z$/),
      detail: { result: { credentials: 1 } },
    });
  }, 90_000);

  test('[C89] [A16] on other terms while it runs: refused, and the first goes on as it was asked', async () => {
    const first = await asked('secret', 'rotate', 'beta/notes');
    await waits('rotate/alpha/postgres-database/beta/notes', 'alpha to report');
    expect(await command('secret', 'rotate', 'beta/notes', '--limit', '1h')).toMatchObject({
      code: 3,
      body: {
        kind: 'act-running',
        what: 'rotate/alpha/postgres-database/beta/notes runs already, without a limit, and not with a limit of 3600000 ms',
      },
    });
    const stops = [alpha.behave(), beta.behave()];
    expect(await first.ended).toBe(0);
    expect(asJson(first.stdout())).toMatchObject({ credentials: 1, cutOff: [] });
    for (const stop of stops) stop();
  }, 90_000);
});

describe('[C88] a controller that is not let in', () => {
  /** The same mesh, but that one of its secrets is another one's. */
  async function withWrong(secret: string, text: string): Promise<string> {
    const folder = path.join(mesh.stateDir, `wrong-${secret}`);
    await mkdir(path.join(folder, 'secrets'), { recursive: true, mode: 0o700 });
    await symlink(path.join(mesh.stateDir, 'foundation.json'), path.join(folder, 'foundation.json'));
    for (const name of await readdir(path.join(mesh.stateDir, 'secrets')))
      if (name !== secret)
        await copyFile(path.join(mesh.stateDir, 'secrets', name), path.join(folder, 'secrets', name));
    await writeFile(path.join(folder, 'secrets', secret), text, { mode: 0o600 });
    return folder;
  }

  test('[C88] [U1] by the store: it ends and says why, instead of going on in silence', async () => {
    const folder = await withWrong('postgres-controller', 'another-password');
    const { code, stdout, stderr } = await runMesh(['work', 'controller', '--state', folder]);
    expect(code).toBe(1);
    expect(`${stdout}${stderr}`).toContain('password authentication failed');
    expect(`${stdout}${stderr}`).not.toContain('another-password');
  }, 60_000);
});
