import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  routeRefusal,
  routesOf,
  unroutedOn,
  type RouteIntent,
  type RouteLabel,
} from '../../../src/domain/provisioning/mesh-routes.ts';
import { moduleName, nodeName, partName } from '../../../src/domain/words/names.ts';
import { mesh, module } from '../mesh.ts';

const modules = ['notes', 'wiki', 'memo'].map((name) =>
  module(name, { listens: { http: 80 }, routes: [{ label: 'notes', listens: 'http' }] }),
);
const legacy = module('legacy', { listens: { http: 80 }, routes: [{ name: 'Old.Example', listens: 'http' }] });
const far = module('far', {
  requires: ['thing-service'],
  listens: { http: 80 },
  routes: [{ label: 'far', listens: 'http' }],
});

const label = (node: string, of: string, text: string): RouteLabel => ({
  node: nodeName.parse(node),
  module: moduleName.parse(of),
  listens: partName.parse('http'),
  label: text,
});
const intent = (
  assigned: readonly string[],
  domains: Readonly<Record<string, string>> = {},
  labels: readonly RouteLabel[] = [],
): RouteIntent => ({
  inventory: mesh({ nodes: ['alpha', 'beta'], modules: [...modules, legacy, far], assigned: [...assigned] }),
  publicDomains: new Map(Object.entries(domains).map(([node, domain]) => [nodeName.parse(node), domain])),
  labels,
});
const names = (of: RouteIntent) => routesOf(of).routes.map(({ node, module: its, name }) => `${node}/${its} ${name}`);

describe('routes of a mesh', () => {
  test('[M23] the operator’s label stands instead of the manifest’s; a full name is what it is, with and without a domain', () => {
    const labels = [label('alpha', 'notes', 'memo'), label('alpha', 'legacy', 'new')];
    expect(names(intent(['alpha/notes', 'alpha/legacy'], { alpha: 'a.example' }, labels))).toEqual([
      'alpha/legacy Old.Example',
      'alpha/notes memo.a.example',
    ]);
    expect(names(intent(['alpha/notes', 'alpha/legacy'], {}, labels))).toEqual(['alpha/legacy Old.Example']);
  });

  test('[M23] a label on a node without a public domain composes nothing, and it is said with what to do', () => {
    expect(unroutedOn(routesOf(intent(['alpha/notes'])), nodeName.parse('alpha'))).toEqual([
      {
        module: 'notes',
        says: 'notes on alpha is routed as notes, and alpha has no public domain: no name is composed',
        next: ['mesh node set alpha public-domain=DOMAIN'],
      },
    ]);
    expect(unroutedOn(routesOf(intent(['alpha/notes'])), nodeName.parse('beta'))).toEqual([]);
  });

  test('[D5] a node that cannot be resolved keeps its names: nobody else gets them meanwhile', () => {
    const domains = { alpha: 'x.example', beta: 'X.example' };
    const before = intent(['beta/far'], domains);
    expect(names(before)).toEqual(['beta/far far.X.example']);
    const after = intent(['beta/far', 'alpha/notes'], domains, [label('alpha', 'notes', 'FAR')]);
    expect(routeRefusal(before, after)).toMatchObject({ kind: 'route-held', facts: { holder: 'beta/far' } });
  });

  test('[M26] the one that had the name is named as its holder, also where it stands later in the alphabet', () => {
    const domains = { alpha: 'x.example', beta: 'x.example' };
    const before = intent(['beta/wiki'], domains);
    expect(routeRefusal(before, intent(['alpha/notes', 'beta/wiki'], domains))).toMatchObject({
      kind: 'route-held',
      next: ['mesh set alpha/notes http=LABEL --label'],
      facts: { name: 'notes.x.example', node: 'alpha', module: 'notes', holder: 'beta/wiki' },
    });
    expect(routeRefusal(before, intent(['alpha/notes', 'beta/wiki'], { beta: 'x.example' }))).toBeUndefined();
  });

  test('[M26] what was held twice before a change does not stop it', () => {
    const twice = intent(['alpha/notes', 'alpha/wiki'], { alpha: 'x.example' });
    expect(routesOf(twice).refusals).toHaveLength(1);
    const more = intent(['alpha/notes', 'alpha/wiki', 'alpha/legacy'], { alpha: 'x.example' });
    expect(routeRefusal(twice, more)).toBeUndefined();
  });

  test('[M26] of changes that are let through, no name leads to two places, and a name once given stays where it is', () => {
    const places = [
      'alpha/notes',
      'alpha/wiki',
      'alpha/memo',
      'beta/notes',
      'beta/wiki',
      'beta/legacy',
      'alpha/legacy',
    ];
    const change = fc.oneof(
      fc.record({ assign: fc.constantFrom(...places) }),
      fc.record({
        node: fc.constantFrom('alpha', 'beta'),
        domain: fc.constantFrom('x.example', 'X.Example', 'y.example'),
      }),
      fc.record({ of: fc.constantFrom(...places), label: fc.constantFrom('notes', 'NOTES', 'one', 'two') }),
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        let assigned: readonly string[] = [];
        let domains: Readonly<Record<string, string>> = {};
        let labels: readonly RouteLabel[] = [];
        for (const one of changes) {
          const before = intent(assigned, domains, labels);
          const next = {
            assigned: 'assign' in one ? [...new Set([...assigned, one.assign])] : assigned,
            domains: 'node' in one ? { ...domains, [one.node]: one.domain } : domains,
            labels: 'of' in one ? labelled(labels, one.of, one.label) : labels,
          };
          const after = intent(next.assigned, next.domains, next.labels);
          if (routeRefusal(before, after) !== undefined) continue;
          ({ assigned, domains, labels } = next);
          const { routes, refusals } = routesOf(after);
          expect(refusals).toEqual([]);
          expect(new Set(routes.map(({ name }) => name.toLowerCase())).size).toBe(routes.length);
          // An assignment takes no name from another place.
          if ('assign' in one) expect(names(after)).toEqual(expect.arrayContaining([...names(before)]));
        }
      }),
    );
  });
});

function labelled(labels: readonly RouteLabel[], place: string, text: string): readonly RouteLabel[] {
  const [node = '', of = ''] = place.split('/');
  return [...labels.filter((one) => `${one.node}/${one.module}` !== place), label(node, of, text)];
}
