/**
 * A manifest as the mesh holds it: what a module says of itself, with every short form written out and every
 * default filled in. It is closed under JSON: what the store keeps reads back by `manifest` to the same value.
 * What a person writes is `written.ts`; `parse-manifest.ts` turns one into the other and judges it as a whole.
 */
import { z } from 'zod';
import { fileFormat, mode, nodePath, secretForm, unknownFiles } from '../declaration/declaration.ts';
import { localName, moduleName, partName, provisionName } from '../words/names.ts';

export const portNumber = z.int().min(1).max(65535);
export const listensProtocol = z.enum(['tcp', 'udp', 'both']);
export const scope = z.enum(['node', 'mesh']);
const json = z.json();

/** `grants` is the directory where consumers' credentials and the grant list land (S7). */
const provides = z.strictObject({
  name: provisionName,
  scope,
  listens: partName.optional(),
  grants: nodePath.optional(),
  /** How long open sessions of a replaced login may go on (S11). */
  drainMs: z.int(),
});
/** `protocol: both` is one number on tcp and on udp. */
const listens = z.strictObject({ name: partName, port: portNumber, protocol: listensProtocol, fixed: z.boolean() });
/** Where one credential lands. Without a local it is the plain form (S14). */
const secretDelivery = z.strictObject({
  requirement: provisionName,
  local: localName.optional(),
  file: nodePath,
  as: secretForm,
  owner: z.string().optional(),
});
/** A credential that only files with placeholders hold. Nobody writes it: it is read out of those files (`templates.ts`). */
const filledCredential = z.strictObject({
  requirement: provisionName,
  local: localName.optional(),
  as: z.enum(['filled', 'filled-password']),
});
const ownedFile = { file: nodePath, owner: z.string().optional() };
const placed = { path: nodePath, owner: z.string().optional() };

export const directoryItem = z.strictObject({ kind: z.literal('directory'), ...placed, mode, unknown: unknownFiles });
/** Exactly one of `content` and `from`. Without a mode, a file taken `from` the folder keeps the one it has there. */
export const fileItem = z.strictObject({
  kind: z.literal('file'),
  ...placed,
  mode: mode.optional(),
  content: z.string().optional(),
  from: z.string().optional(),
  format: fileFormat,
});
export const archiveItem = z.strictObject({
  kind: z.literal('archive'),
  ...placed,
  from: z.string(),
  unknown: unknownFiles,
});
export const ready = z.union([
  z.strictObject({ port: partName }),
  z.strictObject({ file: nodePath }),
  z.strictObject({ log: z.string() }),
]);
export const stopSignal = z.enum(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP']);
export const processItem = z.strictObject({
  kind: z.literal('process'),
  name: partName,
  command: z.array(z.string()),
  cwd: nodePath.optional(),
  user: z.string().optional(),
  env: z.record(z.string(), z.string()),
  restartOn: z.array(nodePath),
  stop: z.strictObject({ signal: stopSignal, waitMs: z.int() }),
  ready: ready.optional(),
});
export const imageReference = z.union([
  z.strictObject({ artifact: partName, module: moduleName.optional() }),
  z.strictObject({ reference: z.string() }),
]);
/** What a container publishes: one of the module's `listens`, or a mapping written the long way and left as it is (M20). */
export const publication = z.union([
  z.strictObject({ listens: partName }),
  z.strictObject({ mapping: z.union([z.string(), z.int()]) }),
]);
export const containerItem = z.strictObject({
  kind: z.literal('container'),
  name: partName,
  image: imageReference,
  command: z.array(z.string()).optional(),
  user: z.string().optional(),
  env: z.record(z.string(), z.string()),
  envFiles: z.array(nodePath),
  publish: z.array(publication),
  mounts: z.array(z.strictObject({ from: nodePath, to: nodePath, readOnly: z.boolean() })),
  networks: z.array(partName),
  restartOn: z.array(nodePath),
});
export const networkItem = z.strictObject({ kind: z.literal('network'), name: partName });
export const manifestResource = z.discriminatedUnion('kind', [
  directoryItem,
  fileItem,
  archiveItem,
  processItem,
  containerItem,
  networkItem,
]);

export const manifest = z.strictObject({
  module: moduleName,
  version: z.string(),
  describes: z.string().optional(),
  requires: z.array(provisionName),
  provides: z.array(provides),
  listens: z.array(listens),
  secrets: z.array(secretDelivery),
  filled: z.array(filledCredential).default([]),
  binds: z.array(z.strictObject({ requirement: provisionName, ...ownedFile })),
  holds: z.array(z.strictObject({ name: partName, ...ownedFile })),
  routes: z.array(z.strictObject({ label: z.string().optional(), name: z.string().optional(), listens: partName })),
  contributes: z.array(z.strictObject({ collection: z.string(), item: json })),
  answers: z.array(
    z.strictObject({
      kind: z.string(),
      bucket: z.string().optional(),
      key: z.string().optional(),
      verb: z.string().optional(),
    }),
  ),
  claims: z.array(z.strictObject({ name: partName, scope })),
  seats: z.array(partName),
  keeps: z.strictObject({ export: nodePath }).optional(),
  computed: partName.optional(),
  settings: z.array(z.strictObject({ name: partName, default: json.optional() })),
  capabilities: z.array(partName),
  health: z.strictObject({ http: z.string(), listens: partName, intervalMs: z.int(), graceMs: z.int() }).optional(),
  builds: z.array(
    z.strictObject({
      artifact: partName,
      recipe: z.string(),
      bases: z.array(z.strictObject({ name: partName, module: moduleName, artifact: partName })),
    }),
  ),
  resources: z.array(manifestResource),
});
export type Manifest = z.infer<typeof manifest>;
export type SecretDelivery = z.infer<typeof secretDelivery>;
export type FilledCredential = z.infer<typeof filledCredential>;
export type Provides = z.infer<typeof provides>;
export type Listens = z.infer<typeof listens>;
export type ManifestResource = z.infer<typeof manifestResource>;

/** The files of the module's folder that its resources take, each once, in order; `module add` reads just these. */
export function filesNeeded(of: Manifest): readonly string[] {
  const from = of.resources.flatMap((item) => (item.kind === 'file' && item.from !== undefined ? [item.from] : []));
  return [...new Set(from)].toSorted();
}
