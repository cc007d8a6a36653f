/**
 * The manifest as a person writes it (2-modules): short forms and long ones, durations in words, hyphens. Strict: what is
 * not known is a fault that names the nearest known. Editors get the same schema by `manifestJsonSchema`.
 */
import { z } from 'zod';
import { mode, nodePath, secretForm, unknownFiles } from '../declaration/declaration.ts';
import { routedName, routeLabel } from '../provisioning/route-names.ts';
import { collectionName, localName, moduleName, partName, provisionName } from '../words/names.ts';
import { fields } from './faults.ts';
import { listensProtocol, portNumber, scope, stopSignal } from './manifest.ts';

/** Names that hide which engine it is: a consumer written for one cannot use another (M8). */
const engineHiding: Readonly<Record<string, string>> = {
  database: 'postgres-database, mysql-database or whichever engine it is',
  db: 'postgres-database, mysql-database or whichever engine it is',
  sql: 'postgres-database, mysql-database or whichever engine it is',
  'sql-database': 'postgres-database, mysql-database or whichever engine it is',
};
const provision = provisionName.refine((name) => engineHiding[name] === undefined, {
  error: (issue) =>
    `${JSON.stringify(issue.input)} hides which engine it is; write ${engineHiding[String(issue.input)] ?? 'the engine'}`,
});

const user = z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, {
  error: (issue) =>
    `${JSON.stringify(issue.input)} is not the name of a user: write lower-case letters, digits, _ and -`,
});
const duration = z.string().regex(/^(0|[1-9]\d{0,6})(ms|s|m|h)$/, {
  error: (issue) => `${JSON.stringify(issue.input)} is not a duration: write 250ms, 5s, 1m or 2h`,
});
/** A file of the module's folder: never a way out of it. */
// oxlint-disable-next-line no-control-regex -- a control character in a path is exactly what is refused
const folderPath = z.string().regex(/^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^/\\\u0000-\u001f]+(?:\/[^/\\\u0000-\u001f]+)*$/, {
  error: (issue) =>
    `${JSON.stringify(issue.input)} is not a file of the module's folder: write it relative, without "." and ".." parts`,
});
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
    error: (issue) => `${JSON.stringify(issue.input)} is not the name of a variable`,
  })
  .refine((name) => !/^(MESH_|PORT_)/.test(name), {
    error: (issue) => `${JSON.stringify(issue.input)} is a variable that the mesh sets itself; write another name`,
  });
const version = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/, {
  error: (issue) => `${JSON.stringify(issue.input)} is not a version: write it as text, like "1.4.0"`,
});
const env = z.record(variable, z.string());
const delivery = fields({ file: nodePath, as: secretForm.optional(), owner: user.optional() });
const landing = z.union([nodePath, fields({ file: nodePath, owner: user.optional() })]);
const readyWhen = z.union([fields({ port: partName }), fields({ file: nodePath }), fields({ log: z.string().min(1) })]);

const writtenResource = z.discriminatedUnion('kind', [
  fields({
    kind: z.literal('directory'),
    path: nodePath,
    mode: mode.optional(),
    owner: user.optional(),
    unknown: unknownFiles,
  }),
  fields({
    kind: z.literal('file'),
    path: nodePath,
    mode: mode.optional(),
    owner: user.optional(),
    from: folderPath.optional(),
    content: z.string().optional(),
    format: z.enum(['json', 'yaml', 'env', 'ini', 'raw']).optional(),
  }),
  fields({
    kind: z.literal('archive'),
    path: nodePath,
    owner: user.optional(),
    from: folderPath,
    unknown: unknownFiles,
  }),
  fields({
    kind: z.literal('process'),
    name: partName,
    command: z.array(z.string()).min(1),
    'restart-on': z.array(nodePath).optional(),
    user: user.optional(),
    cwd: nodePath.optional(),
    env: env.optional(),
    stop: fields({ signal: stopSignal.optional(), wait: duration.optional() }).optional(),
    ready: readyWhen.optional(),
  }),
  fields({
    kind: z.literal('container'),
    name: partName,
    image: z.union([z.string().min(1), fields({ artifact: partName, module: moduleName.optional() })]),
    command: z.array(z.string()).min(1).optional(),
    user: z.string().optional(),
    env: env.optional(),
    'env-files': z.array(nodePath).optional(),
    publish: z.array(z.union([z.string(), z.int()])).optional(),
    mounts: z.array(fields({ from: nodePath, to: nodePath, 'read-only': z.boolean().optional() })).optional(),
    networks: z.array(partName).optional(),
    'restart-on': z.array(nodePath).optional(),
  }),
  fields({ kind: z.literal('network'), name: partName }),
]);

export const writtenManifest = fields({
  module: moduleName,
  version,
  describes: z.string().max(200).optional(),
  requires: z.array(provision).optional(),
  provides: z
    .array(
      z.union([
        provision,
        fields({
          name: provision,
          scope,
          listens: partName.optional(),
          grants: nodePath.optional(),
          drain: duration.optional(),
        }),
      ]),
    )
    .optional(),
  listens: z
    .record(
      partName,
      z.union([
        portNumber,
        fields({ port: portNumber, protocol: listensProtocol.optional(), fixed: z.boolean().optional() }),
      ]),
    )
    .optional(),
  secrets: z.record(provisionName, z.union([nodePath, delivery, z.record(localName, delivery)])).optional(),
  binds: z.record(provisionName, landing).optional(),
  holds: z.record(partName, landing).optional(),
  routes: z.array(fields({ label: routeLabel.optional(), name: routedName.optional(), listens: partName })).optional(),
  contributes: z.array(fields({ collection: collectionName, item: z.json() })).optional(),
  answers: z
    .array(
      fields({
        kind: partName,
        bucket: z.string().optional(),
        key: z.string().optional(),
        verb: z.string().optional(),
      }),
    )
    .optional(),
  claims: z.array(fields({ name: partName, scope })).optional(),
  seats: z.array(partName).optional(),
  keeps: fields({ export: nodePath }).optional(),
  computed: partName.optional(),
  settings: z.record(partName, fields({ default: z.json().optional() })).optional(),
  capabilities: z.array(partName).optional(),
  health: fields({
    http: z.string().startsWith('/'),
    listens: partName,
    interval: duration.optional(),
    grace: duration.optional(),
  }).optional(),
  builds: z
    .record(
      partName,
      fields({
        recipe: folderPath,
        bases: z.record(partName, fields({ module: moduleName, artifact: partName })).optional(),
      }),
    )
    .optional(),
  resources: z.array(writtenResource).optional(),
});
export type WrittenManifest = z.infer<typeof writtenManifest>;
export type WrittenResource = z.infer<typeof writtenResource>;

/** The schema for editors: what a person may write in module.yaml or module.json. */
export function manifestJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(writtenManifest, { io: 'input', unrepresentable: 'any' }), title: 'A module of the mesh' };
}
