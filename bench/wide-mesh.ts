/** A wide mesh as a value: so many nodes with the same modules each, that need one another on the node. */
import { parseManifest } from '../src/domain/manifest/parse-manifest.ts';
import { isRefusal } from '../src/domain/refusal/refusal.ts';
import type { CatalogueModule, Inventory, PortRow } from '../src/domain/resolution/inventory.ts';
import { moduleName, nodeName, partName } from '../src/domain/words/names.ts';

export const moduleAt = (index: number): string => `mod-${index}`;
export const nodeAt = (index: number): string => `n${index}`;
export const firstPort = 20_000;

/** What a person would write of the module: up to three requirements, a port, a directory, a file, a process. */
export function writtenModule(index: number): Readonly<Record<string, unknown>> {
  const name = moduleAt(index);
  const needs = index === 0 ? [] : [...new Set([index - 1, index >> 1, index >> 2])].map((other) => `cap-${other}`);
  return {
    module: name,
    version: `1.${index}.0`,
    requires: needs,
    provides: [{ name: `cap-${index}`, scope: 'node' }],
    listens: { http: 8000 + index },
    resources: [
      { kind: 'directory', path: `/etc/${name}`, unknown: 'program' },
      { kind: 'file', path: `/etc/${name}/a.conf`, mode: '0640', content: `tls = on\nreplicas = ${index % 5}\n` },
      { kind: 'process', name: 'server', command: [`/usr/bin/${name}`, '--config', `/etc/${name}/a.conf`] },
    ],
  };
}

export function wideCatalogue(modules: number): readonly CatalogueModule[] {
  return Array.from({ length: modules }, (_, index) => {
    const manifest = parseManifest(writtenModule(index), moduleAt(index));
    if (isRefusal(manifest)) throw new Error(JSON.stringify(manifest));
    return { manifest, files: new Map() };
  });
}

export function wideMesh(nodes: number, modules: number): Inventory {
  const names = Array.from({ length: nodes }, (_, index) => nodeName.parse(nodeAt(index)));
  const assigned = Array.from({ length: modules }, (_, index) => moduleName.parse(moduleAt(index)));
  const http = partName.parse('http');
  return {
    nodes: names.map((name, index) => ({
      name,
      address: `10.0.${index >> 8}.${index & 255}`,
      sealingFingerprint: `key-of-${name}`,
      carriedPorts: [],
    })),
    modules: wideCatalogue(modules),
    assignments: names.flatMap((node) => assigned.map((module) => ({ node, module }))),
    ports: names.flatMap((node) =>
      assigned.map((module, index): PortRow => ({
        node,
        module,
        listens: http,
        protocol: 'tcp',
        port: firstPort + index,
        fixed: false,
      })),
    ),
    pins: [],
    bindings: [],
    ownSecrets: [],
    pairSecrets: [],
  };
}
