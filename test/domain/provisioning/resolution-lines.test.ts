import { describe, expect, test } from '@jest/globals';
import { fillText } from '../../../src/domain/provisioning/fill.ts';
import { mirrorsOf } from '../../../src/domain/provisioning/mirrors.ts';
import { resolutionLines } from '../../../src/domain/provisioning/resolution-lines.ts';
import { routesOf } from '../../../src/domain/provisioning/mesh-routes.ts';
import { assignmentPlan, buckets } from '../../../src/domain/provisioning/values.ts';
import type { Inventory } from '../../../src/domain/resolution/inventory.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import { nodeName } from '../../../src/domain/words/names.ts';
import { mesh, module, node } from '../mesh.ts';

const routed = (name: string, part: object = {}) =>
  module(name, { listens: { http: 80 }, routes: [{ label: name, listens: 'http' }], ...part });
const proxy = module('proxy', { claims: [{ name: 'reverse-proxy', scope: 'node' }] });
const gate = module('gate', {
  listens: { web: 80 },
  provides: [{ name: 'route', scope: 'mesh', listens: 'web' }],
});
const asker = module('asker', {
  resources: [{ kind: 'file', path: '/etc/hosts.mesh', format: 'raw', content: '${resolution:hosts}\n' }],
});
const modules = [routed('notes'), routed('wiki'), routed('shop', { requires: ['route'] }), proxy, gate, asker];
const domains = new Map(['alpha', 'beta', 'gamma'].map((name) => [nodeName.parse(name), `${name}.Example`]));

function world(assigned: readonly string[]): Inventory {
  return mesh({
    nodes: [...['alpha', 'beta', 'gamma'].map((name) => node(name)), node('invited', { address: '' })],
    modules,
    assigned: [...assigned],
  });
}
function lines(assigned: readonly string[]): readonly string[] {
  const inventory = world(assigned);
  const { routes } = routesOf({ inventory, publicDomains: domains, labels: [] });
  return resolutionLines(inventory, resolve(inventory), routes);
}
const nodes = ['alpha.test alpha.internal', 'beta.test beta.internal', 'gamma.test gamma.internal'];

describe('internal resolution', () => {
  test('[M25] every node that has joined has its name; a routed name that nobody serves has none', () => {
    expect(lines(['alpha/notes'])).toEqual(nodes);
  });

  test('[M25] a routed name leads to the proxy of its own node, or else to the first there is', () => {
    expect(lines(['alpha/notes', 'beta/wiki', 'beta/proxy', 'gamma/proxy', 'gamma/notes'])).toEqual([
      ...nodes,
      'beta.test notes.alpha.example',
      'gamma.test notes.gamma.example',
      'beta.test wiki.beta.example',
    ]);
  });

  test('[M25] a module that takes its route from a provider is reached there, whatever other proxy there is', () => {
    expect(lines(['alpha/shop', 'alpha/proxy', 'gamma/gate'])).toEqual([...nodes, 'gamma.test shop.alpha.example']);
  });

  test('[M25] the module that asks for it is given the lines of a hosts file in its plan, and no other module is', () => {
    const inventory = world(['alpha/asker', 'alpha/notes', 'beta/proxy']);
    const { mirrors } = mirrorsOf({
      inventory,
      resolution: resolve(inventory),
      settings: [],
      pending: new Map(),
      publicDomains: domains,
    });
    const planOf = (key: string) => assignmentPlan.parse(JSON.parse(mirrors.get(buckets.assignments)?.get(key) ?? ''));
    const hosts = planOf('alpha.asker').resolution?.['hosts'];
    expect(hosts).toEqual([...nodes, 'beta.test notes.alpha.example']);
    expect(planOf('alpha.notes')).not.toHaveProperty('resolution');
    const filled = fillText({
      file: 'hosts',
      format: 'raw',
      text: '127.0.0.1 localhost\n${resolution:hosts}\n',
      valueOf: () => ({ kind: 'value', value: hosts }),
    });
    expect(filled).toEqual({
      kind: 'filled',
      text: `127.0.0.1 localhost\n${[...nodes, 'beta.test notes.alpha.example'].join('\n')}\n`,
    });
  });
});
