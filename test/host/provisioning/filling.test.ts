/** [P12] [P13] Files with placeholders on a node: what they hold, when they are written, and when they are not. */
import { readFileSync } from 'node:fs';
import { readdir, readFile, stat, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { applied, buckets, need } from '../../../src/domain/provisioning/values.ts';
import { partName } from '../../../src/domain/words/names.ts';
import { statePaths } from '../../../src/host/state.ts';
import { until } from '../../support/until.ts';
import { processOf } from '../node.ts';
import { kindKey, runNode, startClientMesh, template, type ClientMesh, type RunningNode } from './client-mesh.ts';

let mesh: ClientMesh;
let running: RunningNode;
beforeAll(async () => {
  mesh = await startClientMesh();
}, 30_000);
afterAll(() => mesh.stop());
beforeEach(async () => {
  await mesh.reset();
  running = await runNode(mesh);
});
afterEach(() => running.close());

const facts = { host: '10.0.0.7', port: 5432, database: 'anvil.notes', owner: 'anvil.notes' };
const bound = [{ provision: 'postgres-database', provider: 'postgres', facts }];
const first = { generation: 1, login: 'anvil.notes_b', value: 'first "pass$word"' };
const read = (at: string): Promise<string> => running.node.read(at);
const needOf = async (kind: string, name: string) =>
  need.parse((await mesh.keys(buckets.needs)).get(`anvil.notes.${kind}.${name}`));
const appliedOf = async () => applied.parse((await mesh.keys(buckets.applied)).get('anvil.notes'));
const waiting = async () => (await running.pass()).failures.map(({ error, waits }) => ({ error, waits }));

describe('what a file holds', () => {
  const awkward = 'it\'s "q" $HOME @x #1\nand\ttwo = ünï';
  beforeEach(() =>
    mesh.say({ notes: { settings: { title: awkward, list: ['a', 1], on: true }, plan: { ports: { http: 8080 } } } }),
  );

  test('[P13] in JSON and YAML a value alone keeps its type, and a text arrives as it is', async () => {
    await running.pass(
      template(
        'notes',
        '/n.json',
        '{"t": ${config:title}, "l": ${config:list}, "on": ${config:on}, "s": "p ${port:http}"}',
        { format: 'json' },
      ),
      template('notes', '/n.yaml', 't: ${config:title}\non: ${config:on}\nport: ${port:http}\n', { format: 'yaml' }),
    );
    expect(JSON.parse(await read('/n.json'))).toEqual({ t: awkward, l: ['a', 1], on: true, s: 'p 8080' });
    const { parse } = await import('yaml');
    expect(parse(await read('/n.yaml'))).toEqual({ t: awkward, on: true, port: 8080 });
  });

  test('[P13] in an env file a value is one word for a shell, in an ini file one line, and raw it is as it is', async () => {
    await mesh.say({
      notes: { settings: { title: 'it\'s "q" $HOME @x #1', list: ['a', 'b'] }, plan: { ports: { http: 8080 } } },
    });
    await running.pass(
      template('notes', '/n.env', 'TITLE=${config:title}\nPORT=${port:http}\n', { format: 'env' }),
      template('notes', '/n.ini', '[n]\ntitle = ${config:title}\n', { format: 'ini' }),
      template('notes', '/n.txt', '${config:title}|${config:list}|$NAME ${NAME:-x}', { format: 'raw' }),
    );
    const { execFileSync } = await import('node:child_process');
    const said = execFileSync('sh', ['-c', `. ${running.node.at('/n.env')}; printf '%s|%s' "$TITLE" "$PORT"`]);
    expect(said.toString()).toBe('it\'s "q" $HOME @x #1|8080');
    expect(await read('/n.ini')).toBe('[n]\ntitle = "it\'s \\"q\\" $HOME @x #1"\n');
    expect(await read('/n.txt')).toBe('it\'s "q" $HOME @x #1|a\nb|$NAME ${NAME:-x}');
  });

  const c42 = z
    .object({ each: z.array(z.object({ password: z.string(), encoded: z.string() })) })
    .parse(
      JSON.parse(
        readFileSync(new URL('../../cases/C42-password-in-an-address/expected.json', import.meta.url), 'utf8'),
      ),
    );
  test('[P13] [C42] every password arrives intact, and percent-encoded in an address', async () => {
    await mesh.say({ notes: { bound } });
    const address =
      'postgresql://${secret:postgres-database:login|url}:${secret:postgres-database|url}@${bound:postgres-database:host|url}:${bound:postgres-database:port}/${bound:postgres-database:database|url}';
    for (const [at, { password, encoded }] of c42.each.entries()) {
      mesh.secrets.set('notes postgres-database', { ...first, generation: at + 1, value: password });
      const { failures } = await running.pass(
        template('notes', '/url', `${address}\n`, { generations: { 'postgres-database': at + 1 } }),
        template('notes', '/n.json', '{"password": ${secret:postgres-database}}', {
          format: 'json',
          generations: { 'postgres-database': at + 1 },
        }),
      );
      expect(failures).toEqual([]);
      const written = await read('/url');
      expect(written.replaceAll('%27', "'")).toBe(`postgresql://anvil.notes_b:${encoded}@10.0.0.7:5432/anvil.notes\n`);
      expect(decodeURIComponent(new URL(written.trim()).password)).toBe(password);
      expect(JSON.parse(await read('/n.json'))).toEqual({ password });
    }
  });
});

describe('when a file is written', () => {
  const files = (generation: number) => [
    template('notes', '/title', '${config:title}\n'),
    template('notes', '/colour', '${config:colour}\n'),
    template('notes', '/database', '${secret:postgres-database:login} ${secret:postgres-database}\n', {
      generations: { 'postgres-database': generation },
    }),
  ];
  const stamps = async () =>
    Object.fromEntries(
      await Promise.all(
        ['/title', '/colour', '/database'].map(async (name): Promise<[string, string]> => {
          const { ino, mtimeNs } = await stat(running.node.at(name), { bigint: true });
          return [name, `${ino} ${mtimeNs}`];
        }),
      ),
    );
  const record = () =>
    stat(path.join(running.node.stateDir, statePaths.provisioner), { bigint: true }).then(({ ino }) => ino);
  beforeEach(async () => {
    mesh.secrets.set('notes postgres-database', first);
    await mesh.say({ notes: { settings: { title: 'one', colour: 'red' }, bound } });
    expect((await running.pass(...files(1))).failures).toEqual([]);
  });

  test('[P11] a pass over what did not change writes no file, no key, no record, and opens no secret', async () => {
    const before = {
      files: await stamps(),
      keys: await mesh.sequences(),
      record: await record(),
      asked: mesh.asked.length,
    };
    await running.pass();
    await running.pass();
    await running.restart();
    await running.pass();
    expect({
      files: await stamps(),
      keys: await mesh.sequences(),
      record: await record(),
      asked: mesh.asked.length,
    }).toEqual(before);
  });

  test('[P11] a value that changed rewrites the files that use it and no other', async () => {
    const before = await stamps();
    await mesh.say({ notes: { settings: { title: 'two', colour: 'red' }, bound } });
    await running.pass();
    const after = await stamps();
    expect(await read('/title')).toBe('two\n');
    expect({ ...after, '/title': '' }).toEqual({ ...before, '/title': '' });
    expect(after['/title']).not.toBe(before['/title']);
    expect(mesh.asked).toEqual(['notes postgres-database']);
  });

  test('[P13] [D13] a process is started anew when a file that it reads is filled with something else, and only then', async () => {
    const sleeper = { ...processOf('main', 'exec sleep 300'), restartOn: ['/title'] };
    const pid = () => running.node.supervisor.pidOf('notes.main');
    expect((await running.pass(...files(1), sleeper)).failures).toEqual([]);
    const before = pid();
    await mesh.say({ notes: { settings: { title: 'one', colour: 'blue' }, bound } });
    await running.pass();
    expect(pid()).toBe(before);
    await mesh.say({ notes: { settings: { title: 'two', colour: 'blue' }, bound } });
    await running.pass();
    expect(pid()).not.toBe(before);
    expect(pid()).toBeDefined();
  });

  test('[P12] [D15] a process whose file waits goes on with the old one', async () => {
    const sleeper = { ...processOf('main', 'exec sleep 300'), restartOn: ['/title'] };
    await running.pass(...files(1), sleeper);
    const before = running.node.supervisor.pidOf('notes.main');
    await mesh.say({ notes: { settings: { colour: 'red' }, bound } });
    const { failures } = await running.pass();
    expect(failures).toMatchObject([{ resource: 'notes/file/title', waits: true }]);
    expect(running.node.supervisor.pidOf('notes.main')).toBe(before);
    expect(await read('/title')).toBe('one\n');
    await mesh.say({ notes: { settings: { title: 'one', colour: 'red' }, bound } });
    expect(await waiting()).toEqual([]);
    expect(running.node.supervisor.pidOf('notes.main')).toBe(before);
  });

  test('[P8] applied names the generations in the files, and moves when they do', async () => {
    const before = await appliedOf();
    expect(before).toMatchObject({ version: '1.0.0', generations: { 'postgres-database': 1 } });
    mesh.secrets.set('notes postgres-database', { ...first, generation: 2, value: 'second', login: 'anvil.notes_a' });
    await running.pass(...files(2));
    expect(await read('/database')).toBe('anvil.notes_a second\n');
    const after = await appliedOf();
    expect(after.generations).toEqual({ 'postgres-database': 2 });
    expect(after.at).not.toBe(before.at);
  });

  test('[P8] applied names the generation that is in the file, also when the seat was ahead of the declaration', async () => {
    await rm(running.node.at('/database'));
    mesh.secrets.set('notes postgres-database', { ...first, generation: 2, value: 'second' });
    await running.pass();
    expect(await read('/database')).toBe('anvil.notes_b second\n');
    expect((await appliedOf()).generations).toEqual({ 'postgres-database': 2 });
    const before = await mesh.sequences();
    await running.pass();
    expect(await mesh.sequences()).toEqual(before);
    await running.pass(...files(2));
    expect((await appliedOf()).generations).toEqual({ 'postgres-database': 2 });
  });

  test('[P12] a credential that is older than the declaration says is waited for', async () => {
    const { failures } = await running.pass(...files(2));
    expect(failures).toEqual([
      { resource: 'notes/file/database', waits: true, error: expect.stringContaining('generation 1') },
    ]);
    expect(await read('/database')).toBe(`anvil.notes_b ${first.value}\n`);
    expect((await appliedOf()).generations).toEqual({ 'postgres-database': 1 });
  });

  test('[S8] login and password in one file are of one answer, also when a rotation happens between two asks', async () => {
    let generation = 1;
    mesh.onAsked = () => {
      generation += 1;
      mesh.secrets.set('notes postgres-database', {
        generation,
        login: `login ${generation}`,
        value: `value ${generation}`,
      });
    };
    for (let round = 0; round < 5; round += 1) {
      await rm(running.node.at('/database'), { force: true });
      await running.pass();
      expect(await read('/database')).toMatch(/^login (\d+) value \1\n$/);
    }
  });

  test('[D13] a filled file that somebody changed or removed is put right from what it was filled with', async () => {
    const { writeFile } = await import('node:fs/promises');
    await writeFile(running.node.at('/title'), 'mine\n');
    await rm(running.node.at('/colour'));
    const { drift, kept } = await running.pass();
    expect(drift).toHaveLength(2);
    expect(kept).toHaveLength(1);
    expect([await read('/title'), await read('/colour')]).toEqual(['one\n', 'red\n']);
  });

  test('[P8] nothing is said to be applied of a module that the declaration does not hold yet', async () => {
    await mesh.say({ notes: { settings: { title: 'one', colour: 'red' }, bound }, ledger: {} });
    await running.pass();
    expect([...(await mesh.keys(buckets.applied)).keys()]).toEqual(['anvil.notes']);
  });

  test('[S5] the password is in the file that was filled with it, and nowhere else on the node or the bus', async () => {
    const { findIn } = await import('./find-in.ts');
    mesh.secrets.set('notes postgres-database', { ...first, generation: 2, value: 'needle-in-the-hay' });
    await running.pass(...files(2));
    await running.restart();
    await running.pass();
    expect(await findIn(path.dirname(running.node.root), 'needle-in-the-hay')).toEqual([running.node.at('/database')]);
    expect(running.log.join('\n')).not.toContain('needle-in-the-hay');
    for (const bucket of Object.values(buckets))
      expect(JSON.stringify([...(await mesh.keys(bucket))])).not.toContain('needle-in-the-hay');
  });
});

describe('[P12] a file that cannot be filled is not written, its old one stays whole, and the need says why', () => {
  const one = template('notes', '/etc/title', 'title ${config:title}\n');
  beforeEach(async () => {
    await mesh.say({ notes: { settings: { title: 'one' } } });
    await running.pass(one);
    expect(await needOf('config', 'title')).toEqual({
      files: ['/etc/title'],
      placeholders: ['${config:title}'],
      met: true,
    });
  });
  const stays = async () => {
    expect(await read('/etc/title')).toBe('title one\n');
    expect(await readdir(running.node.at('/etc'))).toEqual(['title']);
  };

  test('a value that is missing, and comes', async () => {
    const two = template('notes', '/etc/title', 'title ${config:title} in ${config:colour}\n');
    expect((await running.pass(two)).failures).toEqual([
      { resource: 'notes/file/etc/title', waits: true, error: expect.stringContaining('${config:colour}') },
    ]);
    await stays();
    expect(await needOf('config', 'colour')).toMatchObject({
      met: false,
      reason: expect.stringContaining('anvil.notes.colour'),
    });
    expect(await needOf('config', 'title')).toMatchObject({ met: true });
    await mesh.say({ notes: { settings: { title: 'one', colour: 'red' } } });
    expect(await waiting()).toEqual([]);
    expect(await read('/etc/title')).toBe('title one in red\n');
    expect(await needOf('config', 'colour')).toMatchObject({ met: true });
  });

  test('a kind that no module answers, and then one does', async () => {
    await running.pass(template('notes', '/etc/title', '${weather:berlin:wind}\n'));
    await stays();
    expect(await needOf('weather', 'berlin')).toEqual({
      files: ['/etc/title'],
      placeholders: ['${weather:berlin:wind}'],
      met: false,
      reason: 'no module of this mesh answers placeholders of kind weather',
    });
    await mesh.put(buckets.registry, kindKey('weather'), {
      module: 'sky',
      answer: { bucket: buckets.settings, key: '<node>.<module>.<name>' },
    });
    await mesh.say({ notes: { settings: { title: 'one', berlin: { wind: 'north' } } } });
    expect(await waiting()).toEqual([]);
    expect(await read('/etc/title')).toBe('north\n');
  });

  test('a verb of a seat that the node may not ask, and one that nobody serves', async () => {
    await mesh.put(buckets.registry, kindKey('weather'), { module: 'sky', answer: { seat: 'sky', verb: 'now' } });
    expect((await running.pass(template('notes', '/etc/title', '${weather:berlin}\n'))).failures).toMatchObject([
      { waits: true },
    ]);
    await stays();
    expect(await needOf('weather', 'berlin')).toMatchObject({ met: false, reason: expect.stringContaining('sky.now') });
    mesh.secrets.set('notes postgres-database', first);
    await mesh.say({ notes: { settings: { title: 'one' }, bound } });
    await mesh.serve(false);
    const secret = template('notes', '/etc/title', '${secret:postgres-database}', {
      generations: { 'postgres-database': 1 },
    });
    expect((await running.pass(secret)).failures).toMatchObject([
      { waits: true, error: expect.stringContaining('the-controller.secret') },
    ]);
    await stays();
    expect(await needOf('secret', 'postgres-database')).toMatchObject({
      met: false,
      reason: expect.stringContaining('the-controller.secret'),
    });
    await mesh.serve(true);
    expect(await waiting()).toEqual([]);
    expect(await read('/etc/title')).toBe(first.value);
    expect(await needOf('secret', 'postgres-database')).toMatchObject({ met: true });
  });

  test('a value that the format cannot hold is a failure, and is no waiting', async () => {
    await mesh.say({ notes: { settings: { title: 'two\nlines' } } });
    const { failures } = await running.pass(
      template('notes', '/etc/title', '[n]\ntitle = ${config:title}\n', { format: 'ini' }),
    );
    expect(failures).toMatchObject([{ resource: 'notes/file/etc/title' }]);
    expect(failures[0]?.waits).toBeUndefined();
    await stays();
    expect(await needOf('config', 'title')).toMatchObject({ met: false });
  });

  const c81 = z
    .object({ declarations_bytes: z.array(z.number()) })
    .parse(JSON.parse(readFileSync(new URL('../../cases/C81-value-too-big/sizes.json', import.meta.url), 'utf8')));
  test('[C81] a value that is too big for its bucket never comes to the client; the largest that fits arrives whole', async () => {
    const most = 'x'.repeat(250_000);
    await mesh.say({ notes: { settings: { title: most } } });
    await running.pass();
    expect(await read('/etc/title')).toBe(`title ${most}\n`);
    for (const bytes of c81.declarations_bytes)
      await expect(mesh.put(buckets.settings, 'anvil.notes.title', 'x'.repeat(bytes))).rejects.toMatchObject({
        reason: 'too-big',
      });
    await running.pass();
    expect(await read('/etc/title')).toBe(`title ${most}\n`);
  });

  test('[D15] the broker away: what is filled stays, what is new waits, and nothing of it is taken for missing', async () => {
    const before = await mesh.sequences();
    await mesh.bus.kill();
    await until(
      async () => (await waiting()).length === 0 && running.log.some((line) => line.includes('disconnected')),
      { withinMs: 10_000, what: 'a pass without a bus' },
    );
    await stays();
    expect((await running.pass(one, template('notes', '/etc/new', '${config:title}'))).failures).toMatchObject([
      { resource: 'notes/file/etc/new', waits: true },
    ]);
    // What somebody took away meanwhile is not there, and nobody says that it is.
    await rm(running.node.at('/etc/title'));
    expect(await waiting()).toHaveLength(2);
    await mesh.bus.start();
    await running.connected();
    await until(async () => mesh.bus.mesh.isConnected(), { withinMs: 20_000, what: 'the mesh to be back on the bus' });
    expect(await waiting()).toEqual([]);
    expect([await read('/etc/title'), await read('/etc/new')]).toEqual(['title one\n', 'one']);
    expect((await mesh.sequences())[2]).toBe(before[2]);
  });
});

test('[P11] what a node contributes in one pass it collects in the next', async () => {
  await mesh.say({
    notes: {
      plan: {
        contributes: [{ collection: partName.parse('motd'), contributor: partName.parse('notes'), item: 'hello' }],
      },
    },
  });
  expect((await running.pass(template('notes', '/motd', '${collected:motd}'))).failures).toEqual([]);
  expect([...(await mesh.keys(buckets.collect))]).toEqual([['anvil.motd.notes', { item: 'hello' }]]);
  await running.pass();
  expect(await readFile(running.node.at('/motd'), 'utf8')).toBe('hello');
});
