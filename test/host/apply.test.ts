import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chmod, chown, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { openLedger } from '../../src/host/ledger.ts';
import { temporaryName } from '../../src/host/whole-file.ts';
import { directory, file, makeNode, type TestNode } from './node.ts';

let node: TestNode;
beforeEach(async () => {
  node = await makeNode();
});
afterEach(() => node.remove());

const clean = { failures: [], drift: [], kept: [] };
const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);
const asRoot = process.getuid?.() === 0 ? test : test.skip;

describe('directories and files', () => {
  test('[D8] directories come before what lies in them, whatever the order of declaring, and applying again changes nothing', async () => {
    const declared = [
      file('/etc/notes/a/x', 'x'),
      directory('/etc/notes/a', { mode: '0750' }),
      directory('/etc/notes', { mode: '0711' }),
    ];
    expect(await node.apply(...declared)).toEqual({ declared: 3, applied: 3, ...clean });
    expect(await modeOf(node.at('/etc/notes/a'))).toBe('750');
    expect(await modeOf(node.at('/etc/notes'))).toBe('711');
    expect(await node.read('/etc/notes/a/x')).toBe('x');
    const before = await stat(node.at('/etc/notes/a/x'));
    expect(await node.apply(...declared)).toEqual({ declared: 3, applied: 3, ...clean });
    const after = await stat(node.at('/etc/notes/a/x'));
    expect([after.ino, after.mtimeMs, after.ctimeMs]).toEqual([before.ino, before.mtimeMs, before.ctimeMs]);
  });

  test('[D8] what is no longer declared goes, with the folders made for it alone, and nothing else', async () => {
    await mkdir(node.at('/etc'));
    await writeFile(node.at('/etc/theirs'), 'theirs');
    await node.apply(directory('/var/lib/notes'), file('/etc/notes/deep/x', 'x'), file('/etc/y', 'y'));
    expect(await node.apply(file('/etc/y', 'y'))).toEqual({ declared: 1, applied: 1, ...clean });
    expect(await readdir(node.root)).toEqual(['etc']);
    expect((await readdir(node.at('/etc'))).toSorted()).toEqual(['theirs', 'y']);
  });

  test('[D8] a directory that was there before is adopted and never removed; one that is not empty stays and is said', async () => {
    await mkdir(node.at('/srv'));
    await node.apply(directory('/srv', { mode: '0700' }), directory('/data'));
    expect(await modeOf(node.at('/srv'))).toBe('700');
    await writeFile(node.at('/data/theirs'), 'theirs');
    const { kept, failures } = await node.apply();
    expect(failures).toEqual([]);
    expect(kept).toEqual([
      '/data is no longer declared and is not empty; it stays',
      '/srv was there before the mesh and stays',
    ]);
    expect(await node.read('/data/theirs')).toBe('theirs');
  });

  test('[D8] content that the mesh did not write is kept and said before it is replaced', async () => {
    await mkdir(node.at('/etc'));
    await writeFile(node.at('/etc/conf'), 'by hand', { mode: 0o640 });
    const first = await node.apply(file('/etc/conf', 'declared'));
    expect(first).toEqual({
      declared: 1,
      applied: 1,
      ...clean,
      kept: ['/etc/conf held what the mesh did not write; it is kept as conf.mesh-kept-1'],
    });
    expect(await node.read('/etc/conf.mesh-kept-1')).toBe('by hand');
    expect(await modeOf(node.at('/etc/conf.mesh-kept-1'))).toBe('640');
    // Its own content it replaces without keeping.
    expect((await node.apply(file('/etc/conf', 'declared anew'))).kept).toEqual([]);
    await writeFile(node.at('/etc/conf'), 'edited');
    await node.apply(file('/etc/conf', 'declared anew'));
    expect(await node.read('/etc/conf.mesh-kept-2')).toBe('edited');
    // The same content again is kept already.
    await writeFile(node.at('/etc/conf'), 'edited');
    await node.apply(file('/etc/conf', 'declared anew'));
    expect((await readdir(node.at('/etc'))).toSorted()).toEqual(['conf', 'conf.mesh-kept-1', 'conf.mesh-kept-2']);
    // And when it is no longer declared, too.
    await writeFile(node.at('/etc/conf'), 'edited last');
    expect((await node.apply()).kept).toEqual([
      '/etc/conf is no longer declared and holds what the mesh did not write; it is kept as conf.mesh-kept-3',
    ]);
    expect(await node.read('/etc/conf.mesh-kept-3')).toBe('edited last');
  });

  test("[D8] a file is known as the mesh's own after a host that died between writing it and noting it", async () => {
    await node.apply(file('/etc/conf', 'one'));
    const ledger = await openLedger(node.stateDir);
    // What is written ahead is kept; what would be noted afterwards is lost, as by a SIGKILL.
    const lost = { ...ledger, settle: () => undefined, flush: async () => undefined };
    await node.applyWith(lost, node.declare(file('/etc/conf', 'two'), file('/etc/new', 'new')));
    expect(await node.read('/etc/conf')).toBe('two');
    expect(await node.apply(file('/etc/conf', 'three'))).toEqual({ declared: 1, applied: 1, ...clean });
    expect(await readdir(node.at('/etc'))).toEqual(['conf']);
  });

  test('[D8] a path that moves between kinds: file to directory and back, with what stands in the way taken away first', async () => {
    await node.apply(file('/opt/app', 'a file'));
    expect(await node.apply(directory('/opt/app'), file('/opt/app/x', 'x'))).toEqual({
      declared: 2,
      applied: 2,
      ...clean,
    });
    expect(await node.read('/opt/app/x')).toBe('x');
    await writeFile(node.at('/opt/app/theirs'), 'theirs');
    const back = await node.apply(file('/opt/app', 'a file again'));
    expect(back.failures).toEqual([]);
    expect(await node.read('/opt/app')).toBe('a file again');
    expect(await node.read('/opt/app.mesh-kept-1/theirs')).toBe('theirs');
  });

  test('[D8] a file that moves to another module stays where it is', async () => {
    await node.apply(file('/opt/x', 'x'));
    const { ino } = await stat(node.at('/opt/x'));
    await node.apply(file('/opt/x', 'x', { id: 'ledger/file//opt/x' }));
    expect((await stat(node.at('/opt/x'))).ino).toBe(ino);
    expect((await node.apply()).kept).toEqual([]);
    expect(await readdir(node.root)).toEqual([]);
  });

  test('a symlink that leads out of the root is not followed; one that stays inside is', async () => {
    const outside = `${node.root}-outside`;
    await mkdir(outside);
    await symlink(outside, node.at('/out'));
    await mkdir(node.at('/real'));
    await symlink('real', node.at('/in'));
    const { failures, applied } = await node.apply(
      file('/out/x', 'x'),
      directory('/out/d'),
      file('/in/x', 'x'),
      directory('/in'),
    );
    expect(failures.map(({ resource, error }) => [resource, error])).toEqual([
      ['notes/directory//out/d', "/out leads out of the node's root"],
      ['notes/file//out/x', "/out leads out of the node's root"],
    ]);
    expect(applied).toBe(2);
    expect(await readdir(outside)).toEqual([]);
    expect(await node.read('/real/x')).toBe('x');
    await rm(outside, { recursive: true });
  });

  test("a symlink at a file's own path is put aside, and what it led to is left alone", async () => {
    await writeFile(node.at('/target'), 'target');
    await symlink('target', node.at('/link'));
    await node.apply(file('/link', 'declared'));
    expect(await node.read('/target')).toBe('target');
    expect((await lstat(node.at('/link'))).isFile()).toBe(true);
    expect((await lstat(node.at('/link.mesh-kept-1'))).isSymbolicLink()).toBe(true);
  });

  test('[D9] mode and owner are those declared, and a temporary that a crash left is cleared away', async () => {
    await mkdir(node.at('/etc'));
    await writeFile(`${node.at('/etc')}/${temporaryName('conf')}`, 'half of it');
    await node.apply(
      file('/etc/conf', Buffer.from([0, 255, 10]).toString('base64'), { encoding: 'base64', mode: '0755' }),
    );
    expect([...(await readFile(node.at('/etc/conf')))]).toEqual([0, 255, 10]);
    expect(await modeOf(node.at('/etc/conf'))).toBe('755');
    expect(await readdir(node.at('/etc'))).toEqual(['conf']);
  });

  test('[D9] a write that fails leaves the old file whole, and is a failure that names the resource', async () => {
    await node.apply(file('/etc/conf', 'old'));
    // The temporary cannot be made where a directory that is not empty has its name.
    await mkdir(`${node.at('/etc')}/${temporaryName('conf')}/full`, { recursive: true });
    const { failures, applied, declared } = await node.apply(file('/etc/conf', 'new'), file('/etc/other', 'other'));
    expect(failures.map(({ resource }) => resource)).toEqual(['notes/file//etc/conf']);
    expect([declared, applied]).toEqual([2, 1]);
    expect(await node.read('/etc/conf')).toBe('old');
    expect(await node.read('/etc/other')).toBe('other');
  });

  asRoot('[D9] an owner is set; a user that the machine lacks is a failure that says so', async () => {
    const { failures } = await node.apply(
      file('/a', 'a', { owner: 'nobody' }),
      file('/b', 'b', { owner: 'no-such-user' }),
      directory('/d', { owner: 'nobody' }),
    );
    expect(failures).toEqual([{ resource: 'notes/file//b', error: 'the machine has no user named no-such-user' }]);
    const nobody = Number(/^nobody:[^:]*:(\d+):/m.exec(await readFile('/etc/passwd', 'utf8'))?.[1]);
    expect((await stat(node.at('/a'))).uid).toBe(nobody);
    expect((await stat(node.at('/d'))).uid).toBe(nobody);
  });
});

describe('drift', () => {
  test('[D13] a file edited, removed, or given another mode by hand is put back and said; a first apply is no drift', async () => {
    const declared = [
      directory('/etc/notes', { mode: '0750' }),
      file('/etc/notes/a', 'a'),
      file('/etc/notes/b', 'b'),
      file('/etc/notes/c', 'c'),
    ];
    expect((await node.apply(...declared)).drift).toEqual([]);
    await writeFile(node.at('/etc/notes/a'), 'edited');
    await rm(node.at('/etc/notes/b'));
    await chmod(node.at('/etc/notes/c'), 0o666);
    await chmod(node.at('/etc/notes'), 0o777);
    const { drift, failures } = await node.apply(...declared);
    expect(failures).toEqual([]);
    expect(drift).toEqual([
      '/etc/notes had another owner or mode and was put back',
      '/etc/notes/a had been changed and was put back',
      '/etc/notes/b was gone and was put back',
      '/etc/notes/c had another owner or mode and was put back',
    ]);
    expect(await node.read('/etc/notes/a')).toBe('a');
    expect(await modeOf(node.at('/etc/notes/c'))).toBe('644');
    expect(await node.apply(...declared)).toEqual({ declared: 4, applied: 4, ...clean });
  });

  asRoot('[D13] a file that was given away is taken back', async () => {
    await node.apply(file('/a', 'a'));
    await chown(node.at('/a'), 65534, 65534);
    expect((await node.apply(file('/a', 'a'))).drift).toEqual(['/a had another owner or mode and was put back']);
    expect((await stat(node.at('/a'))).uid).toBe(0);
  });

  test('[D13] a directory that was removed with all in it is made again', async () => {
    const declared = [directory('/d'), file('/d/x', 'x')];
    await node.apply(...declared);
    await rm(node.at('/d'), { recursive: true });
    expect((await node.apply(...declared)).drift).toEqual([
      '/d was gone and was made again',
      '/d/x was gone and was put back',
    ]);
  });
});

describe('what the mesh did not write in a directory', () => {
  const strange = async () => {
    await mkdir(node.at('/d/sub'), { recursive: true });
    await writeFile(node.at('/d/theirs'), 'theirs');
    await writeFile(node.at('/d/sub/more'), 'more');
    await writeFile(node.at('/d/sub/declared'), 'y');
  };
  const declared = (unknown: 'program' | 'aside' | 'refuse') => [
    directory('/d', { unknown }),
    file('/d/x', 'x'),
    file('/d/sub/declared', 'y'),
  ];

  test('[D10] program: left alone', async () => {
    await strange();
    expect(await node.apply(...declared('program'))).toEqual({ declared: 3, applied: 3, ...clean });
    expect(await node.read('/d/theirs')).toBe('theirs');
  });

  test('[D10] aside: moved to a kept place beside the directory, and said', async () => {
    await strange();
    const { kept, applied } = await node.apply(...declared('aside'));
    expect(applied).toBe(3);
    expect(kept).toEqual([
      '/d/sub/more was not written by the mesh; it was moved to /d.mesh-kept/more.1',
      '/d/theirs was not written by the mesh; it was moved to /d.mesh-kept/theirs.1',
    ]);
    expect(await node.read('/d.mesh-kept/theirs.1')).toBe('theirs');
    expect((await readdir(node.at('/d'))).toSorted()).toEqual(['sub', 'x']);
    await writeFile(node.at('/d/theirs'), 'again');
    await node.apply(...declared('aside'));
    expect(await node.read('/d.mesh-kept/theirs.2')).toBe('again');
    expect((await node.apply(...declared('aside'))).kept).toEqual([]);
  });

  test('[D10] refuse: the resource fails, naming the files, and what lies below it is not tried', async () => {
    await strange();
    const { failures, applied } = await node.apply(...declared('refuse'), file('/elsewhere', 'e'));
    expect(applied).toBe(1);
    expect(failures).toEqual([
      { resource: 'notes/directory//d', error: '/d holds what the mesh did not write: /d/sub/more, /d/theirs' },
      { resource: 'notes/file//d/x', error: 'not tried: notes/directory//d, which it lies in, failed' },
      { resource: 'notes/file//d/sub/declared', error: 'not tried: notes/directory//d, which it lies in, failed' },
    ]);
    await rm(node.at('/d/theirs'));
    await rm(node.at('/d/sub/more'));
    expect(await node.apply(...declared('refuse'), file('/elsewhere', 'e'))).toEqual({
      declared: 4,
      applied: 4,
      ...clean,
    });
  });
});
