import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { secretsToMake } from '../../../src/domain/credential/secrets-to-make.ts';
import type { Inventory } from '../../../src/domain/resolution/inventory.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import { nodeName } from '../../../src/domain/words/names.ts';
import { consumer, mesh, module, node, own, pair, pairKey, port, provider } from '../mesh.ts';

const key = pairKey('alpha/notes', 'beta/postgres');
const vault = module('vault', { holds: { seal: '/etc/vault/seal' } });
const parts = {
  modules: [provider('postgres'), consumer('notes'), vault],
  assigned: ['alpha/notes', 'beta/postgres', 'gamma/vault'],
  ports: [port('beta/postgres', 'sql', 20_000)],
};
const toMake = (inventory: Inventory, nodes?: readonly string[]) =>
  secretsToMake(inventory, resolve(inventory), nodes && new Set(nodes.map((one) => nodeName.parse(one))));
const said = (inventory: Inventory, nodes?: readonly string[]) =>
  toMake(inventory, nodes).needs.map((need) => `${need.path} ${need.why}`);

test('[S3] what is missing is made once, for the nodes asked for at either end', () => {
  const inventory = mesh(parts);
  const credential = 'beta/postgres-database/alpha/notes missing';
  expect(said(inventory)).toEqual([credential, 'gamma/vault/seal missing']);
  expect(said(inventory, ['alpha'])).toEqual([credential]);
  expect(said(inventory, ['beta'])).toEqual([credential]);
  expect(said(inventory, ['gamma'])).toEqual(['gamma/vault/seal missing']);
  expect(toMake(mesh({ ...parts, pairSecrets: [pair(key)], ownSecrets: [own('gamma/vault', 'seal')] }))).toEqual({
    needs: [],
    refusals: [],
  });
});

test('[S3] whatever is made is never asked for again', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(9), { maxLength: 6 }),
      fc.uniqueArray(fc.nat(9), { maxLength: 6 }),
      (apps, made) => {
        const inventory = mesh({
          ...parts,
          modules: [provider('postgres'), ...apps.map((app) => consumer(`app-${app}`))],
          assigned: ['beta/postgres', ...apps.map((app) => `alpha/app-${app}`)],
          pairSecrets: made.map((app) => pair(pairKey(`alpha/app-${app}`, 'beta/postgres'))),
        });
        expect(said(inventory)).toEqual(
          apps
            .filter((app) => !made.includes(app))
            .toSorted((a, b) => a - b)
            .map((app) => `beta/postgres-database/alpha/app-${app} missing`),
        );
      },
    ),
  );
});

test('[S4] [S10] what is sealed to a key that is not the node’s present one is remade, saying what it replaces', () => {
  const secrets = { pairSecrets: [pair(key, 3)], ownSecrets: [own('gamma/vault', 'seal')] };
  const rekeyed = (name: string) =>
    mesh({
      ...parts,
      ...secrets,
      nodes: ['alpha', 'beta', 'gamma'].map((one) => (one === name ? node(one, { sealingFingerprint: 'new' }) : one)),
    });
  expect(toMake(rekeyed('alpha')).needs).toMatchObject([{ kind: 'pair', why: 'consumer-key-changed', replaces: 3 }]);
  expect(toMake(rekeyed('beta')).needs).toMatchObject([{ kind: 'pair', why: 'provider-key-changed', replaces: 3 }]);
  expect(toMake(rekeyed('gamma')).needs).toMatchObject([
    { kind: 'own', path: 'gamma/vault/seal', why: 'node-key-changed' },
  ]);
});

test('[S13] an accepted one is refused by name, with the remedy, and never remade', () => {
  const lost = {
    nodes: [node('alpha', { sealingFingerprint: 'new' }), 'beta', node('gamma', { sealingFingerprint: 'new' })],
  };
  const accepted = {
    pairSecrets: [pair(key, 1, 'current', { origin: 'accepted' })],
    ownSecrets: [own('gamma/vault', 'seal', { origin: 'accepted' })],
  };
  const { needs, refusals } = toMake(mesh({ ...parts, ...lost, ...accepted }));
  expect(needs).toEqual([]);
  expect(refusals.map((one) => [one.kind, one.next[0]])).toEqual([
    ['secret-accepted', 'mesh secret accept alpha/notes postgres-database'],
    ['secret-accepted', 'mesh secret accept gamma/vault seal'],
  ]);
});

test('[S2] an end that has no key yet, or cannot be sent its half, is said instead', () => {
  const { sealingFingerprint: _, ...invited } = node('beta');
  expect(toMake(mesh({ ...parts, nodes: ['alpha', invited, 'gamma'] })).refusals).toMatchObject([
    { kind: 'secret-cannot-be-made', facts: { nodes: ['beta'] } },
  ]);
  const broken = mesh({
    ...parts,
    modules: [...parts.modules, module('broken', { requires: ['nowhere'] })],
    assigned: [...parts.assigned, 'beta/broken'],
  });
  expect(toMake(broken, ['alpha']).refusals).toMatchObject([
    { kind: 'secret-cannot-be-made', facts: { node: 'beta' } },
  ]);
});

test('[D5] a node that cannot be resolved is asked for nothing', () => {
  const inventory = mesh({
    ...parts,
    modules: [...parts.modules, module('broken', { requires: ['nowhere'] })],
    assigned: [...parts.assigned, 'alpha/broken'],
  });
  expect(said(inventory)).toEqual(['gamma/vault/seal missing']);
});
