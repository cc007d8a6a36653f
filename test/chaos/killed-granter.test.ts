/** [A1.2] [D15] A real granter process is killed before each statement that changes the server and each file that it writes; the next one ends where it would have ended. */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ask, failure, grantDirectory, grantOf, newPassword, startGranter } from '../granters/granting.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { startTypeScript } from '../support/program.ts';
import { documentedKinds, granterKind } from './kinds.ts';

const program = fileURLToPath(new URL('granter-program.ts', import.meta.url));
let servers: TestServers;
beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
}, 60_000);
afterAll(() => servers.close());

test('[A1.2] [D15] [S11] killed before each change of a rotation: the old login works until the new one does, and ends when it is taken', async () => {
  const grants = await grantDirectory();
  const at = (generation: number) => ({ grant: grantOf('n1.notes', generation), password: newPassword() });
  const { host, port, superuserPasswordFile } = servers.foundation.postgres;
  const works = async (login: ReturnType<typeof at>): Promise<void> => {
    expect(await ask(servers, login, 'select current_user')).toEqual([login.grant.owner]);
  };

  /** Starts a granter that dies before its `killBefore`-th change; answers that change, undefined when it got through. */
  const killed = async (killBefore: number, settled: () => Promise<unknown>): Promise<string | undefined> => {
    const dying = startTypeScript(program, [
      grants.directory,
      host,
      String(port),
      superuserPasswordFile,
      String(killBefore),
    ]);
    let said = '';
    dying.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const ended = once(dying, 'close').then(() => said.trimEnd().split('\n').at(-1) ?? '');
    const through = settled().then(
      () => undefined,
      () => 'never',
    );
    const change = await Promise.race([ended, through]);
    if (change === undefined) {
      dying.kill('SIGKILL');
      await ended;
    }
    return change;
  };
  const finish = async (settled: () => Promise<unknown>): Promise<void> => {
    const next = startGranter(servers, grants);
    try {
      await settled();
    } finally {
      await next.stop();
    }
  };

  const first = at(1);
  let old = first;
  await grants.write([first]);
  await finish(() => grants.state(first.grant, 'granted'));
  const points: string[] = [];
  for (let killBefore = 1, isThrough = false; !isThrough; killBefore += 1) {
    const [before, fresh] = [old, at(old.grant.generation + 1)];
    const isGranted = () => grants.state(fresh.grant, 'granted');
    await grants.write([before, fresh]);
    const adding = await killed(killBefore, isGranted);
    await works(before);
    await finish(isGranted);
    await works(before);
    await works(fresh);

    const isWithdrawn = () => grants.state(before.grant, 'withdrawn');
    await grants.write([fresh]);
    const taking = await killed(killBefore, isWithdrawn);
    await works(fresh);
    await finish(isWithdrawn);
    await works(fresh);
    expect(await failure(works(before))).toBe('28P01');

    old = fresh;
    points.push(...[adding, taking].flatMap((point) => (point === undefined ? [] : [point])));
    isThrough = adding === undefined && taking === undefined;
  }
  // Both ways: no change is of a kind that the page does not list, and the granter was killed at each that it lists.
  // Whether a session is left to be ended is the moment's; cut-in-two.test.ts holds one open and is cut there as well.
  const met = new Set([...points.map(granterKind), 'sql/end-sessions']);
  expect(met).toEqual(documentedKinds('The granter of Postgres'));
  await grants.remove();
}, 400_000);
