import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import {
  composeRoutes,
  hostNameFault,
  labelFault,
  madeUpLabel,
  routedName,
  routeLabel,
  type DeclaredRoute,
} from '../../../src/domain/provisioning/route-names.ts';
import { nodeName, partName } from '../../../src/domain/words/names.ts';
import { writtenManifest } from '../../../src/domain/manifest/written.ts';
import { at, hash } from '../mesh.ts';

const caseFile = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../cases/${path}`, import.meta.url), 'utf8'));
const route = (placed: string, part: Partial<DeclaredRoute>): DeclaredRoute => ({
  ...at(placed),
  listens: partName.parse('http'),
  ...part,
});
const domains = (all: Readonly<Record<string, string>>) =>
  new Map(Object.entries(all).map(([node, domain]) => [nodeName.parse(node), domain]));
const names = ({ routes }: ReturnType<typeof composeRoutes>) =>
  routes.map(({ node, module, name }) => [node, module, name]);

describe('composing routed names', () => {
  test('[M23] a label stands under its node’s public domain; a full name passes unchanged', () => {
    const composed = composeRoutes(
      [
        route('alpha/notes', { label: 'Notes' }),
        route('beta/notes', { label: 'notes' }),
        route('alpha/wiki', { name: 'Old.Wiki.example' }),
      ],
      domains({ alpha: 'a.example', beta: 'b.example' }),
    );
    expect(names(composed)).toEqual([
      ['alpha', 'notes', 'Notes.a.example'],
      ['beta', 'notes', 'notes.b.example'],
      ['alpha', 'wiki', 'Old.Wiki.example'],
    ]);
    expect([composed.unnamed, composed.refusals]).toEqual([[], []]);
  });

  test('[M23] a label on a node without a domain composes nothing and says so; a full name needs none', () => {
    const composed = composeRoutes(
      [route('alpha/notes', { label: 'notes' }), route('alpha/wiki', { name: 'wiki.example' })],
      new Map(),
    );
    expect(names(composed)).toEqual([['alpha', 'wiki', 'wiki.example']]);
    expect(composed.unnamed).toEqual([
      {
        ...at('alpha/notes'),
        says: 'notes on alpha is routed as notes, and alpha has no public domain: no name is composed',
      },
    ]);
  });

  test('[M26] the second of two with one name in any letter case is refused by name', () => {
    const composed = composeRoutes(
      [
        route('alpha/notes', { label: 'notes' }),
        route('beta/wiki', { name: 'NOTES.a.Example' }),
        route('beta/wiki', { label: 'wiki' }),
      ],
      domains({ alpha: 'a.example', beta: 'b.example' }),
    );
    expect(names(composed)).toEqual([
      ['alpha', 'notes', 'notes.a.example'],
      ['beta', 'wiki', 'wiki.b.example'],
    ]);
    expect(composed.refusals).toMatchObject([
      {
        kind: 'route-held',
        what: 'notes.a.example is the name of notes on alpha, and NOTES.a.Example would be that of wiki on beta',
      },
    ]);
  });

  test('[M26] no two composed names are one name, whatever was declared', () => {
    const some = fc.record({
      placed: fc.constantFrom('alpha/notes', 'beta/notes', 'beta/wiki'),
      label: fc.constantFrom('a', 'A', 'b'),
    });
    fc.assert(
      fc.property(fc.array(some), (all) => {
        const declared = all.map(({ placed, label }) => route(placed, { label }));
        const composed = composeRoutes(declared, domains({ alpha: 'x.example', beta: 'X.example' }));
        const found = composed.routes.map(({ name }) => name.toLowerCase());
        expect(new Set(found).size).toBe(found.length);
        expect(found.length + composed.refusals.length).toBe(all.length);
      }),
    );
  });

  test('[M23] a name that became too long by its domain is refused', () => {
    const long = `${'a'.repeat(60)}.`.repeat(4);
    const composed = composeRoutes(
      [route('alpha/notes', { label: 'b'.repeat(60) })],
      domains({ alpha: `${long}example` }),
    );
    expect(composed).toMatchObject({ routes: [], refusals: [{ kind: 'invalid-name' }] });
    expect(composed.refusals[0]?.what).toContain('has 312 letters');
  });
});

describe('labels and names', () => {
  test.each(['a', '1', 'a-b', 'Notes', 'xn--bcher-kva', 'XN--Bcher-Kva', 'xn--wgv71a119e', 'a'.repeat(63)])(
    '[M24] %s is a label',
    (text) => {
      expect(labelFault(text)).toBeUndefined();
      expect(routeLabel.safeParse(text).success).toBe(true);
    },
  );

  test.each([
    '',
    '-a',
    'a-',
    'a_b',
    'a.b',
    'bücher',
    'a'.repeat(64),
    'xn--',
    'xn--a',
    'xn--999999999',
    'xn--bcher-',
    '*',
  ])('[M24] %j is no label: a parse error that quotes it, once', (text) => {
    const read = routeLabel.safeParse(text);
    expect(read.error?.issues).toHaveLength(1);
    expect(read.error?.issues[0]?.message).toContain(JSON.stringify(text));
    const manifest = writtenManifest.safeParse({ module: 'a', version: '1', routes: [{ label: text, listens: 'h' }] });
    expect(manifest.error?.issues).toHaveLength(1);
  });

  const hosts = z.array(z.string()).parse(caseFile('C91-host-names/hosts.json'));
  const { each } = z
    .object({ each: z.array(z.object({ n: z.int(), must: z.string() })) })
    .parse(caseFile('C91-host-names/expected.json'));
  test.each(each.map(({ n, must }) => ({ n, must, host: hosts[n - 1] ?? '' })))(
    '[C91] $n $host: $must',
    ({ n, must, host }) => {
      // No wildcards are offered (2), and none is made to the others that leave a choice.
      const isName = must.startsWith('ok') && n !== 2;
      const fault = hostNameFault(host);
      expect([host, fault === undefined]).toEqual([host, isName]);
      if (!isName) expect(fault).toContain(JSON.stringify(host));
      const read = routedName.safeParse(host);
      expect(read.error?.issues.map((issue) => issue.message)).toEqual(isName ? undefined : [fault]);
      const manifest = writtenManifest.safeParse({ module: 'a', version: '1', routes: [{ name: host, listens: 'h' }] });
      expect(manifest.success).toBe(isName);
    },
  );

  test('[C91] each refusal says what was found', () => {
    expect(
      hosts
        .map((host) =>
          hostNameFault(host)
            ?.replace(/^"[^"]*" /, '')
            .replace(/:.*/, ''),
        )
        .filter((says) => says !== undefined),
    ).toEqual([
      ...Array.from({ length: 5 }, () => 'is a wildcard, which the mesh does not offer'),
      'is not a full DNS name',
      'has 254 letters',
      'holds an underscore, for which no certificate is given out',
      'holds an underscore, for which no certificate is given out',
      'is not a full DNS name',
      'is not a full DNS name',
      'has an empty label',
      'has an empty label',
      'has an empty label',
      'is a single label, which no public name is',
      'is a single label, which no public name is',
      'is an address of a machine',
      'is an address of a machine',
      'has a port',
      'is an address with a scheme',
      'has a path',
      'is not a full DNS name',
      'is not a full DNS name',
      'is not a full DNS name',
      'ends in a label of digits alone',
    ]);
  });
});

describe('made-up labels', () => {
  const combos = z
    .array(z.object({ service: z.string(), env: z.string(), project: z.string() }))
    .parse(caseFile('C93-made-up-names-that-collide/combos.json'));
  const made = (): readonly string[] =>
    combos.map(({ service, env, project }) => madeUpLabel([service, env, project], hash));

  test('[C93] twelve different labels, each a label, the same on a second run, the service readable in it', () => {
    const labels = made();
    expect(new Set(labels).size).toBe(12);
    expect(made()).toEqual(labels);
    for (const [n, label] of labels.entries()) {
      expect(label).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
      expect(label).not.toMatch(/^xn--/);
      expect(label).toContain((combos[n]?.service ?? '').slice(0, 50));
    }
  });

  test('[C93] other parts make another label, wherever their boundaries are', () => {
    const parts = fc.array(fc.oneof(fc.constantFrom('a', 'a-b', 'b', 'A', 'xn--a', ''), fc.string({ maxLength: 80 })), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const label = madeUpLabel(one, hash);
        expect(labelFault(label)).toBeUndefined();
        expect(label === madeUpLabel(other, hash)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });
});
