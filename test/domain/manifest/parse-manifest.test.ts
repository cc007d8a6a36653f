import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { manifest } from '../../../src/domain/manifest/manifest.ts';
import { manifestJsonSchema } from '../../../src/domain/manifest/written.ts';
import { nodeName } from '../../../src/domain/words/names.ts';
import { manifestOf, refusalOf } from './manifest.ts';

const small = { module: 'notes', version: '1.0.0' };
const full = {
  ...small,
  describes: 'Notes on the web',
  requires: ['postgres-database', 'route'],
  provides: [
    'shell',
    { name: 'notes-api', scope: 'mesh', listens: 'http', grants: '/var/lib/notes-grants', drain: '2s' },
  ],
  listens: { http: 8080, dns: { port: 53, fixed: true } },
  secrets: {
    'postgres-database': { app: { file: '/etc/notes/app.json', as: 'json' }, file: { file: '/etc/notes/reports' } },
  },
  binds: { 'postgres-database': '/etc/notes/facts.json' },
  holds: { 'cookie-key': { file: '/etc/notes/cookie.key', owner: 'notes' } },
  routes: [{ label: 'notes', listens: 'http' }],
  contributes: [{ collection: 'shell:zsh:normal', item: { alias: 'n' } }],
  answers: [{ kind: 'config', bucket: 'mesh-controller_settings', key: '<node>.<module>.<name>' }],
  claims: [{ name: 'reverse-proxy', scope: 'node' }],
  seats: ['the-vault'],
  keeps: { export: '/var/lib/vault/export.json' },
  settings: { title: { default: 'Notes' } },
  capabilities: ['container-runtime'],
  health: { http: '/healthz', listens: 'http', interval: '5s', grace: '30s' },
  builds: { image: { recipe: 'Dockerfile', bases: { base: { module: 'go-base', artifact: 'image' } } } },
  resources: [
    { kind: 'directory', path: '/var/lib/notes', unknown: 'program' },
    { kind: 'file', path: '/opt/notes/server.mjs', from: 'server.mjs' },
    { kind: 'file', path: '/etc/notes/notes.env', format: 'env', content: 'TITLE=x' },
    {
      kind: 'process',
      name: 'notes',
      command: ['node', '/opt/notes/server.mjs'],
      'restart-on': ['/opt/notes/server.mjs'],
      stop: { wait: '250ms' },
      ready: { port: 'http' },
    },
    {
      kind: 'container',
      name: 'box',
      image: { artifact: 'image' },
      publish: ['http', '127.0.0.1:8080:80', 8081],
      mounts: [{ from: '/run/docker.sock', to: '/s' }],
    },
    { kind: 'archive', path: '/opt/notes/assets', from: 'assets.tar', unknown: 'aside' },
    { kind: 'network', name: 'inner' },
  ],
};

describe('what a manifest says', () => {
  test('[M1] provides takes the short form, of scope node, and the long one', () => {
    expect(manifestOf(full).provides).toEqual([
      { name: 'shell', scope: 'node', drainMs: 30_000 },
      { name: 'notes-api', scope: 'mesh', listens: 'http', grants: '/var/lib/notes-grants', drainMs: 2000 },
    ]);
  });

  test('[S14] locals, the plain form and the plain path are each their own delivery; a local may be called file', () => {
    expect(manifestOf(full).secrets).toEqual([
      { requirement: 'postgres-database', local: 'app', file: '/etc/notes/app.json', as: 'json' },
      { requirement: 'postgres-database', local: 'file', file: '/etc/notes/reports', as: 'password' },
    ]);
    const plain = (to: unknown) =>
      manifestOf({ ...small, requires: ['s3-bucket'], secrets: { 's3-bucket': to } }).secrets;
    expect(plain('/etc/a')).toEqual([{ requirement: 's3-bucket', file: '/etc/a', as: 'password' }]);
    expect(plain({ file: '/etc/a', as: 'json' })).toEqual([{ requirement: 's3-bucket', file: '/etc/a', as: 'json' }]);
  });

  test('[M19] port 53 is both protocols unless one is named', () => {
    expect(manifestOf(full).listens).toEqual([
      { name: 'http', port: 8080, protocol: 'tcp', fixed: false },
      { name: 'dns', port: 53, protocol: 'both', fixed: true },
    ]);
  });

  test('[M10] the container runtime’s socket is one thing under both of its spellings', () => {
    const container = manifestOf(full).resources.find((item) => item.kind === 'container');
    expect(container?.kind === 'container' && container.mounts[0]?.from).toBe('/var/run/docker.sock');
  });

  test('[M10] a container may mount what a binding or a secret lands in, and read a binding’s facts as its environment', () => {
    const mounted = manifestOf({
      ...small,
      requires: ['postgres-database'],
      secrets: { 'postgres-database': '/etc/notes/db' },
      binds: { 'postgres-database': '/etc/notes/facts' },
      holds: { k: '/etc/notes/key' },
      resources: [
        {
          kind: 'container',
          name: 'box',
          image: 'notes',
          mounts: ['/etc/notes/db', '/etc/notes/facts', '/etc/notes/key'].map((from) => ({ from, to: `/run${from}` })),
          'env-files': ['/etc/notes/facts'],
        },
      ],
    });
    expect(mounted.resources).toMatchObject([{ mounts: { length: 3 }, envFiles: ['/etc/notes/facts'] }]);
  });

  test('[M15] a manifest is closed under JSON: what is kept reads back to the same value', () => {
    const parsed = manifestOf(full);
    const back: unknown = JSON.parse(JSON.stringify(parsed));
    expect(manifest.parse(back)).toEqual(parsed);
    expect(Object.keys(manifest.shape).filter((field) => !(field in parsed))).toEqual(['computed']);
  });

  test('a JSON schema for editors is made from the schema that reads', () => {
    const schema = manifestJsonSchema();
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false, required: ['module', 'version'] });
    expect(JSON.stringify(schema)).toContain('restart-on');
  });
});

describe('what is refused, and how it is said', () => {
  const faults: readonly (readonly [string, object, string])[] = [
    ['[M27] a name with a capital', { module: 'Notes' }, 'module: "Notes" is not a module name: write 1 to 63'],
    ['[M27] a port’s name', { listens: { h_t: 80 } }, 'listens.h_t: "h_t" is not a part name'],
    [
      '[M8] a required name that hides the engine',
      { requires: ['database'] },
      'requires[0]: "database" hides which engine it is; write postgres-database',
    ],
    ['[M8] db', { requires: ['db'] }, 'write postgres-database'],
    ['[M8] sql', { requires: ['sql'] }, 'write postgres-database'],
    [
      '[M8] sql-database, provided in the short form',
      { provides: ['sql-database'] },
      'provides[0]: "sql-database" hides which engine it is',
    ],
    [
      '[M8] and in the long one',
      { provides: [{ name: 'db', scope: 'mesh' }] },
      'provides[0].name: "db" hides which engine it is',
    ],
    ['an unknown field', { lisens: { http: 80 } }, 'unknown field "lisens"; write "listens"'],
    ['an unknown field far from any', { quux: 1 }, 'unknown field "quux"; known here: module, version'],
    ['an unknown field inside', { listens: { http: { prt: 80 } } }, 'listens.http: unknown field "prt"; write "port"'],
    [
      'an unknown field of a resource',
      { resources: [{ kind: 'directory', path: '/a', unknwon: 'program' }] },
      'resources[0]: unknown field "unknwon"; write "unknown"',
    ],
    [
      'an unknown field of a secret',
      { requires: ['a'], secrets: { a: { fil: '/x' } } },
      'secrets.a: unknown field "fil"; write "file"',
    ],
    [
      'an unknown kind',
      { resources: [{ kind: 'proces', name: 'a' }] },
      'resources[0].kind: found "proces"; write process',
    ],
    [
      '[D10] a directory that does not say what happens to unknown files',
      { resources: [{ kind: 'directory', path: '/a' }] },
      'resources[0].unknown: found nothing; write one of program, aside, refuse',
    ],
    ['a version that YAML took for a number', { version: 1.4 }, 'version: found 1.4; write text'],
    ['a port too high', { listens: { http: 70_000 } }, 'listens.http: found 70000; write 65535 or less'],
    [
      'a path with ..',
      { resources: [{ kind: 'file', path: '/a/../b', content: '' }] },
      'resources[0].path: "/a/../b" is not a path inside the node',
    ],
    [
      'a folder file that leads out',
      { resources: [{ kind: 'file', path: '/a', from: '../b' }] },
      'resources[0].from: "../b" is not a file of the module’s folder'.replace('’', "'"),
    ],
    [
      'a file without content',
      { resources: [{ kind: 'file', path: '/a' }] },
      'resources[0]: has no content; write either content or from',
    ],
    [
      'a file with both',
      { resources: [{ kind: 'file', path: '/a', content: '', from: 'a' }] },
      'has both content and from',
    ],
    [
      'a duration',
      { resources: [{ kind: 'process', name: 'a', command: ['a'], stop: { wait: '5 seconds' } }] },
      'resources[0].stop.wait: "5 seconds" is not a duration: write 250ms, 5s',
    ],
    [
      'a variable the mesh sets',
      { resources: [{ kind: 'process', name: 'a', command: ['a'], env: { PORT_HTTP: '1' } }] },
      '"PORT_HTTP" is a variable that the mesh sets itself',
    ],
    [
      '[S14] a local name that two requirements share',
      { requires: ['a', 'b'], secrets: { a: { x: { file: '/1' } }, b: { x: { file: '/2' } } } },
      'secrets.b.x: the local name x is taken by a',
    ],
    ['a secret for what is not required', { secrets: { a: '/x' } }, 'secrets.a: a is not required; add it to requires'],
    ['facts for what is not required', { binds: { a: '/x' } }, 'binds.a: a is not required'],
    [
      'a provision on a port that does not exist',
      { listens: { web: 80 }, provides: [{ name: 'a', scope: 'mesh', listens: 'http' }] },
      'provides[0].listens: found "http", which is not one of listens; write one of web',
    ],
    [
      'grants without a port',
      { provides: [{ name: 'a', scope: 'mesh', grants: '/g' }] },
      'provides[0].listens: is missing',
    ],
    [
      'grants of scope node',
      { listens: { w: 1 }, provides: [{ name: 'a', scope: 'node', listens: 'w', grants: '/g' }] },
      'provides[0].grants: found a grants directory',
    ],
    [
      'a restart on a file nobody declares',
      { resources: [{ kind: 'process', name: 'a', command: ['a'], 'restart-on': ['/b'] }] },
      'resources[0].restart-on[0]: found "/b", which this module does not declare',
    ],
    [
      'readiness on a port that does not exist',
      { resources: [{ kind: 'process', name: 'a', command: ['a'], ready: { port: 'http' } }] },
      'resources[0].ready.port: found "http"',
    ],
    [
      'two processes of one name',
      {
        resources: [
          { kind: 'process', name: 'a', command: ['a'] },
          { kind: 'process', name: 'a', command: ['b'] },
        ],
      },
      '"process a" stands there twice',
    ],
    [
      '[M24] a label that is none',
      { listens: { h: 1 }, routes: [{ label: '-x', listens: 'h' }] },
      'routes[0].label: "-x" is not a DNS label',
    ],
    [
      '[M20] a mapping that is none',
      { resources: [{ kind: 'container', name: 'a', image: 'a', publish: ['0:80'] }] },
      'the machine port is 0: leave it out',
    ],
    [
      '[C29] a mapping that YAML took for a number in base sixty',
      { resources: [{ kind: 'container', name: 'a', image: 'a', publish: [127_342] }] },
      '127342 is not a port mapping: "127342" is more than 65535; some readers of YAML',
    ],
    [
      '[M10] a secret as a container’s environment',
      { holds: { k: '/k' }, resources: [{ kind: 'container', name: 'a', image: 'a', 'env-files': ['/k'] }] },
      'resources[0].env-files[0]: /k holds a secret',
    ],
    [
      '[M10] a credential for others as a container’s environment',
      {
        listens: { sql: 5432 },
        provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/grants' }],
        resources: [{ kind: 'container', name: 'a', image: 'a', 'env-files': ['/grants/beta.notes.1'] }],
      },
      'resources[0].env-files[0]: /grants/beta.notes.1 holds a secret',
    ],
    [
      '[M10] two things mounted at one place',
      {
        resources: [
          {
            kind: 'container',
            name: 'a',
            image: 'a',
            mounts: [
              { from: '/a', to: '/x' },
              { from: '/b', to: '/x' },
            ],
          },
        ],
      },
      'resources[0].mounts: "/x" stands there twice',
    ],
    ['a list where an object belongs', { listens: [] }, 'listens: found []; write an object'],
  ];
  test.each(faults)('%s', (_name, part, says) => {
    const refusal = refusalOf({ ...small, ...part });
    expect(refusal.kind).toBe('manifest-invalid');
    expect(refusal.what).toContain(says);
    expect(refusal.what.startsWith('module.yaml: ')).toBe(true);
  });

  test('every fault is named at once, not only the first', () => {
    const { what } = refusalOf({ module: 'A', lisens: {}, requires: ['db'] });
    expect(what.split('\n')).toHaveLength(4);
  });

  test('a value that is no object is said to be none', () => {
    expect(refusalOf('notes').what).toContain('the whole file: found "notes"; write an object with module, version');
    expect(refusalOf(null).what).toContain('the whole file: found null');
  });

  test('two things at one path, or under a file, are a clash that names both', () => {
    const clash = refusalOf({ ...small, holds: { k: '/a' }, resources: [{ kind: 'file', path: '/a', content: '' }] });
    expect([clash.kind, clash.what]).toEqual([
      'path-clash',
      'module.yaml: /a is declared by resources[0] and by holds.k',
    ]);
    const under = refusalOf({
      ...small,
      holds: { k: '/a/b/c' },
      resources: [{ kind: 'file', path: '/a', content: '' }],
    });
    expect(under.what).toContain('/a is a file of resources[0], and holds.k needs a directory there');
  });

  test('[M27] what is a name is just the grammar, and anything else is quoted', () => {
    const grammar = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 70 }), fc.stringMatching(/^[a-z0-9-]{1,66}$/)), (text) => {
        const read = nodeName.safeParse(text);
        expect(read.success).toBe(grammar.test(text) && text.length <= 63);
        if (!read.success) expect(read.error.issues[0]?.message).toContain(JSON.stringify(text));
      }),
    );
  });
});
