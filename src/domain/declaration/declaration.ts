/**
 * A declaration: everything one node should be, composed for it and named by its digest (D1, D2).
 * It holds sealed blobs, never a value. The host trusts the signature of its envelope and nothing else (D3).
 */
import { z } from 'zod';
import { localName, moduleName, nodeName, partName, provisionName } from '../words/names.ts';

/** A path inside the node's root: absolute, no `.` or `..` parts, no trailing slash, no doubled slash, no control characters. */
export const nodePath = z
  .string()
  .max(1024)
  .refine(
    // oxlint-disable-next-line no-control-regex -- a control character in a path is exactly what is refused
    (path) => /^(\/[^/\u0000-\u001f]+)+$/.test(path) && !path.split('/').some((part) => part === '.' || part === '..'),
    {
      error: (issue) =>
        `${JSON.stringify(issue.input)} is not a path inside the node's root: write it absolute, without "." and ".." parts or a trailing slash`,
    },
  );

export const mode = z.string().regex(/^0[0-7]{3}$/, { error: 'a mode is written as four octal digits, like "0644"' });
const owner = z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, { error: 'an owner is the name of a user of the node' });
/** What happens to a file in a directory that the mesh did not write (D10). */
export const unknownFiles = z.enum(['program', 'aside', 'refuse']);
export const secretForm = z.enum(['password', 'json', 'pgpass', 'url']);
export type SecretForm = z.infer<typeof secretForm>;

/** What a consumer's secret file holds besides the credential; readable, so that it can be put together on the node (S6). */
export const accessFacts = z.strictObject({
  login: z.string(),
  host: z.string(),
  port: z.int(),
  database: z.string(),
});
export type AccessFacts = z.infer<typeof accessFacts>;

/** `id` is `<module>/<kind>/<path or name>`: the same resource keeps it from one declaration to the next. */
const common = { id: z.string().min(1), module: moduleName };

export const directoryResource = z.strictObject({
  ...common,
  kind: z.literal('directory'),
  path: nodePath,
  mode,
  owner: owner.optional(),
  unknown: unknownFiles,
});
export const fileFormat = z.enum(['json', 'yaml', 'env', 'ini', 'raw']);
export type FileFormat = z.infer<typeof fileFormat>;
/**
 * Its content is a text with placeholders, which the node fills in before it is written (P13). `generations` and `own` say of
 * which values of the credentials in it: `<provision>[.<local>]` → generation, name → the digest of its blob. So a rotation
 * reaches the file by a declaration like any other change.
 */
const fill = z.strictObject({
  format: fileFormat,
  generations: z.record(z.string(), z.int().positive()),
  own: z.record(z.string(), z.string()),
});
export const fileResource = z.strictObject({
  ...common,
  kind: z.literal('file'),
  path: nodePath,
  mode,
  owner: owner.optional(),
  content: z.string(),
  encoding: z.enum(['utf8', 'base64']),
  fill: fill.optional(),
});
/** A file whose value only the node can open: `sealed` is a libsodium sealed box in base64 to the key of `fingerprint`. */
export const secretResource = z.strictObject({
  ...common,
  kind: z.literal('secret'),
  path: nodePath,
  mode,
  owner: owner.optional(),
  form: secretForm,
  sealed: z.base64(),
  fingerprint: z.string(),
  facts: accessFacts.optional(),
});
export const processResource = z.strictObject({
  ...common,
  kind: z.literal('process'),
  name: partName,
  command: z.array(z.string()).min(1),
  cwd: nodePath.optional(),
  user: owner.optional(),
  env: z.record(z.string(), z.string()),
  /** listens name → the machine's port; becomes PORT_<NAME> in the process's environment. */
  ports: z.record(z.string(), z.int()),
  /** Paths whose change restarts it, and nothing else does (D11). */
  restartOn: z.array(nodePath),
  stop: z.strictObject({ signal: z.enum(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP']), waitMs: z.int() }),
  ready: z
    .union([
      z.strictObject({ port: z.string() }),
      z.strictObject({ file: nodePath }),
      z.strictObject({ log: z.string() }),
    ])
    .optional(),
});
export const resource = z.discriminatedUnion('kind', [
  directoryResource,
  fileResource,
  secretResource,
  processResource,
]);
export type Resource = z.infer<typeof resource>;
export type DirectoryResource = z.infer<typeof directoryResource>;
export type FileResource = z.infer<typeof fileResource>;
export type SecretResource = z.infer<typeof secretResource>;
export type ProcessResource = z.infer<typeof processResource>;

export const declaration = z.strictObject({
  schema: z.literal('mesh.declaration'),
  version: z.literal(1),
  node: nodeName,
  /** Where other nodes reach this one; given to its processes as MESH_ADDRESS. */
  address: z.string(),
  /** Capabilities that the node must have before anything is applied (D12). */
  capabilities: z.array(z.string()),
  resources: z.array(resource),
  /** Status files that granters write beside their directories and the host carries in its reports (S8). */
  granters: z.array(z.strictObject({ module: moduleName, provision: provisionName, status: nodePath })),
});
export type Declaration = z.infer<typeof declaration>;

/** 6 MiB: what a declaration may weigh (D4). */
export const declarationLimitBytes = 6 * 1024 * 1024;

/** What travels. `body` is the canonical JSON of a declaration; `digest` is `sha256:<hex>` of its bytes. */
export const envelope = z.strictObject({
  schema: z.literal('mesh.envelope'),
  version: z.literal(1),
  node: nodeName,
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  number: z.int().positive(),
  /** Ed25519 over `signedText`, base64. */
  signature: z.base64(),
  body: z.string(),
});
export type Envelope = z.infer<typeof envelope>;

/** The exact text that the controller signs and a host verifies: what it is, for whom, which one, and how new. */
export function signedText(of: Pick<Envelope, 'node' | 'digest' | 'number'>): string {
  return `mesh.envelope.v1\n${of.node}\n${of.digest}\n${of.number}\n`;
}

/** One entry of the readable grant list in a provider's directory (S7). What is not in it is not granted. */
export const grant = z.strictObject({
  node: nodeName,
  module: moduleName,
  local: localName.optional(),
  generation: z.int().positive(),
  /** The credential's file name in the directory: `<node>.<module>[.<local>].<generation>`. */
  file: z.string(),
  login: z.string(),
  /** The role without login that owns everything; `fullName` is what a shortened name stands for (S9). */
  owner: z.string(),
  fullName: z.string(),
  database: z.string(),
  /** Every generation has this login (the password form), so that it is a fact of the binding like the others. */
  keepsLogin: z.literal(true).optional(),
});
export type Grant = z.infer<typeof grant>;
export const grantList = z.strictObject({
  schema: z.literal('mesh.grants'),
  version: z.literal(1),
  provision: provisionName,
  /** How long open sessions of a login that was replaced may go on, milliseconds (S11). */
  drainMs: z.int(),
  /** Where consumers reach the provision: what its program tells them of it. */
  at: z.strictObject({ host: z.string(), port: z.int().optional() }).optional(),
  grants: z.array(grant),
});
export type GrantList = z.infer<typeof grantList>;
/** The grant list's file name in the directory. */
export const grantListFile = 'grants.json';
