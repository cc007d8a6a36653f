/** The demo, run as README says, and held against what it claims. Real in every part: nothing here is played. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));

const summary = z.strictObject({
  schema: z.literal('mesh.demo'),
  version: z.literal(1),
  nodes: z.int(),
  current: z.int(),
  rotation: z.strictObject({
    act: z.string(),
    committed: z.boolean(),
    oldRefused: z.boolean(),
    newWorks: z.boolean(),
    attempts: z.int(),
    attemptsDuringOverlap: z.int(),
    failedLogins: z.int(),
    brokenSessions: z.int(),
    windowMs: z.number(),
  }),
  passwordForm: z.strictObject({ windowMs: z.number(), failedLogins: z.int(), attempts: z.int() }),
  hostKilled: z.strictObject({ processesKeptTheirPids: z.boolean(), currentAgain: z.boolean() }),
  registry: z.strictObject({ kinds: z.int(), writesSecondCompile: z.int() }),
  route: z.union([z.strictObject({ url: z.url(), status: z.int() }), z.strictObject({ absent: z.string() })]),
  temporalUi: z.url(),
  startedMs: z.int(),
  totalMs: z.int(),
  peakMiB: z.int(),
});

let shown: z.infer<typeof summary>;
let progress: string;
let left: string;
beforeAll(() => {
  const ran = spawnSync('npm', ['run', '-s', 'demo', '--', '--json'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 240_000,
  });
  progress = ran.stderr;
  if (ran.status !== 0) throw new Error(`the demo ended with ${ran.status}:\n${ran.stderr.slice(-4000)}`);
  shown = summary.parse(JSON.parse(ran.stdout.trim().split('\n').at(-1) ?? ''));
  const state = /mesh-demo-\w+/.exec(progress)?.[0] ?? 'no folder was named';
  left = spawnSync('pgrep', ['-fa', state], { encoding: 'utf8' }).stdout;
}, 300_000);

describe('the demo', () => {
  test('[U14] ends with every node current, in a folder of its own that is gone afterwards', () => {
    expect(shown).toMatchObject({ nodes: 3, current: 3 });
    expect(left).toBe('');
  });

  test('[S11] [U14] rotates under load without one failed login, and the old credential is refused', () => {
    expect(shown.rotation).toMatchObject({
      act: 'rotate/alpha/postgres-database/beta/notes',
      committed: true,
      oldRefused: true,
      newWorks: true,
      failedLogins: 0,
      windowMs: 0,
    });
    expect(shown.rotation.attempts).toBeGreaterThanOrEqual(200);
    expect(shown.rotation.attemptsDuringOverlap).toBeGreaterThan(0);
  });

  test('[S11] states the window of the password form', () => {
    expect(shown.passwordForm.windowMs).toBeGreaterThan(0);
    expect(shown.passwordForm.attempts).toBeGreaterThan(100);
  });

  test('[D13] a host that was killed finds its processes with their pids, and its node is current again', () => {
    expect(shown.hostKilled).toEqual({ processesKeptTheirPids: true, currentAgain: true });
  });

  test('[P6] the registry answers every kind, and compiled again writes nothing', () => {
    expect(shown.registry.kinds).toBeGreaterThanOrEqual(13);
    expect(shown.registry.writesSecondCompile).toBe(0);
  });

  test('[M23] notes is reached by its name through the web server; without Caddy the node says what is missing', () => {
    if ('absent' in shown.route) expect(shown.route.absent).toContain('no program caddy');
    else
      expect(shown.route).toEqual({ url: expect.stringMatching(/^http:\/\/notes\.mesh\.example:\d+\/$/), status: 200 });
  });

  test('[S5] nothing that it printed holds a credential', () => {
    // A value is 43 characters of base64url; digests are hex, ids have hyphens in known places.
    const values = progress.match(/(?<![\w/%.-])[A-Za-z0-9_-]{43}(?![\w-])/g) ?? [];
    expect(values).toEqual([]);
  });
});
