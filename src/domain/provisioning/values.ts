/**
 * What the provisioner's buckets hold (6-provisioner). No value here is ever a secret (P5): those are asked of a seat and come sealed.
 */
import { z } from 'zod';
import { collectionName, localName, moduleName, nodeName, partName, provisionName } from '../words/names.ts';

/** The buckets' names on the bus; a provider's own is `boundBucket`. */
export const buckets = {
  registry: 'mesh-provisioner_registry',
  needs: 'mesh-provisioner_needs',
  applied: 'mesh-provisioner_applied',
  collect: 'mesh-provisioner_collect',
  assignments: 'mesh-controller_assignments',
  settings: 'mesh-controller_settings',
  compositions: 'mesh-controller_compositions',
  health: 'provisioner_health',
} as const;
export type BucketName = (typeof buckets)[keyof typeof buckets];

/** The bucket of the readable facts that one provider's program writes. */
export function boundBucket(provider: string): string {
  return `${provider}_bound`;
}

/**
 * Where a kind's values are. A bucket with its key shape (`key-shapes.ts` reads it: `<node>.<module>.<name>`), or a seat's
 * verb that is asked on request and reply.
 */
export const answer = z.union([
  z.strictObject({ bucket: z.string().min(1), key: z.string().min(1) }),
  z.strictObject({ seat: partName, verb: partName }),
]);
export type Answer = z.infer<typeof answer>;

/** `mesh-provisioner_registry` `<kind>`: the module that answers, and where its values are. */
export const registryEntry = z.strictObject({ module: moduleName, answer });
export type RegistryEntry = z.infer<typeof registryEntry>;

/** A module's version that has artifacts still to be built: which, and since when (RFC 3339, the controller's clock). */
export const pendingBuild = z.strictObject({
  version: z.string(),
  waitsFor: z.array(partName),
  since: z.iso.datetime(),
});
export type PendingBuild = z.infer<typeof pendingBuild>;

/** One binding as its consumer's index names it: whose bucket holds its facts. */
export const boundReference = z.strictObject({
  provision: provisionName,
  local: localName.optional(),
  provider: moduleName,
});
export type BoundReference = z.infer<typeof boundReference>;

/** `mesh-controller_assignments` `<node>`: all that exists for a node, so that a first read can be known complete (P8). */
export const assignmentIndex = z.strictObject({
  modules: z.record(
    moduleName,
    z.strictObject({ version: z.string(), settings: z.array(partName), bound: z.array(boundReference) }),
  ),
});
export type AssignmentIndex = z.infer<typeof assignmentIndex>;

/** What a module contributes on this node. `order` sorts before everything else; left out, it is 0. */
export const contribution = z.strictObject({
  collection: collectionName,
  contributor: collectionName,
  item: z.json(),
  order: z.int().optional(),
});
export type Contribution = z.infer<typeof contribution>;

/** `mesh-controller_assignments` `<node>.<module>`: the module's plan on this node. */
export const assignmentPlan = z.strictObject({
  version: z.string(),
  build: pendingBuild.optional(),
  /** The last part of a directory's path → the path inside the node's root. */
  dirs: z.record(z.string(), z.string()),
  /** `listens` name → where it is reached: `{ host, port }` of the machine. */
  access: z.record(z.string(), z.strictObject({ host: z.string(), port: z.int() })),
  /** `listens` name → the machine's port. */
  ports: z.record(z.string(), z.int()),
  /** Seat → the node that holds it, null when nobody does. */
  seats: z.record(z.string(), nodeName.nullable()),
  /** Capability → its details; one that the node has not is absent. */
  machine: z.record(z.string(), z.record(z.string(), z.string())),
  /** `hosts` → the lines of a hosts file (M25); only where the module asks for them. */
  resolution: z.record(z.string(), z.array(z.string())).optional(),
  contributes: z.array(contribution),
});
export type AssignmentPlan = z.infer<typeof assignmentPlan>;

/** `mesh-controller_settings` `<node>.<module>.<name>`. */
export const settingValue = z.json();
export type SettingValue = z.infer<typeof settingValue>;

/** What a composition says of one kind that its module answers, as its manifest writes it. */
export const answers = z.strictObject({
  kind: partName,
  bucket: z.string().optional(),
  key: z.string().optional(),
  verb: z.string().optional(),
});
export type Answers = z.infer<typeof answers>;

/** `mesh-controller_compositions` `<module>`: published; a module that is absent there is not. */
export const composition = z.strictObject({
  version: z.string(),
  build: pendingBuild.optional(),
  answers: z.array(answers),
  collects: z.array(collectionName),
  contributes: z.array(z.strictObject({ collection: collectionName, contributor: collectionName })),
});
export type Composition = z.infer<typeof composition>;

/** `mesh-provisioner_needs`: in which files, by which placeholders; and why it is not met, if it is not (P12). */
export const need = z.strictObject({
  files: z.array(z.string()).min(1),
  placeholders: z.array(z.string()).min(1),
  met: z.boolean(),
  reason: z.string().optional(),
});
export type NeedValue = z.infer<typeof need>;

/** `<provision>[.<local>]` → the generation of its credential that is in the module's files. */
export const generations = z.record(z.string(), z.int().positive());

/** `mesh-provisioner_applied`. `at` (RFC 3339, the node's clock, shown and never compared) changes only when something else does. */
export const applied = z.strictObject({
  version: z.string(),
  digest: z.string(),
  generations,
  at: z.iso.datetime(),
});
export type Applied = z.infer<typeof applied>;

/** `mesh-provisioner_collect`. */
export const collected = z.strictObject({ item: z.json(), order: z.int().optional() });
export type Collected = z.infer<typeof collected>;

/** `<provider-module>_bound`: the readable facts of one binding; `login` only where it never changes. */
export const bound = z.strictObject({
  host: z.string(),
  port: z.int().optional(),
  database: z.string().optional(),
  owner: z.string().optional(),
  login: z.string().optional(),
});
export type Bound = z.infer<typeof bound>;

/** `provisioner_health`: a module that was postponed more than two passes in a row (P10), and for which build it waits. */
export const health = z.strictObject({
  since: z.iso.datetime(),
  passes: z.int().positive(),
  build: pendingBuild.optional(),
  reason: z.string().optional(),
});
export type Health = z.infer<typeof health>;
