/**
 * What a node says of itself (D16–D20). The host's counter (boot, sequence) orders reports; clocks never do.
 */
import { z } from 'zod';
import { localName, moduleName, nodeName, partName, provisionName } from '../words/names.ts';

/** One capability as the node found it: with its detail, or absent with the reason in the machine's words (D14). */
export const capability = z.discriminatedUnion('present', [
  z.strictObject({ name: z.string(), present: z.literal(true), detail: z.record(z.string(), z.string()) }),
  z.strictObject({ name: z.string(), present: z.literal(false), reason: z.string() }),
]);
export type Capability = z.infer<typeof capability>;

/** What a granter knows of one login (S8). */
export const granterEntry = z.strictObject({
  node: nodeName,
  module: moduleName,
  local: localName.optional(),
  generation: z.int().positive(),
  login: z.string(),
  /** granted: a login works. draining: no new login, open sessions go on. withdrawn: gone. fault: see `fault`. */
  state: z.enum(['granted', 'draining', 'withdrawn', 'fault']),
  /** How many times this login was seen to connect since this generation was granted. 0: never. */
  seen: z.int(),
  /** The provider's clock, RFC 3339; shown to people, never compared. */
  lastSeenAt: z.string().optional(),
  /** Sessions that were ended because the grace ran out, or at once at a removal. */
  sessionsEnded: z.int(),
  fault: z.string().optional(),
  /** Since when it has one; the provider's clock, RFC 3339, shown and never compared. */
  faultSince: z.string().optional(),
  /** Its server will not have this value as a password: trying it again helps nobody, another value may (C34). */
  valueRefused: z.literal(true).optional(),
});
export type GranterEntry = z.infer<typeof granterEntry>;
export const granterStatus = z.strictObject({
  schema: z.literal('mesh.granter-status'),
  version: z.literal(1),
  provision: provisionName,
  entries: z.array(granterEntry),
  /** A fault of the granter as a whole: it cannot reach its server, it cannot read its list. */
  fault: z.string().optional(),
  /** Since when; the provider's clock, shown and never compared. */
  faultSince: z.string().optional(),
});
export type GranterStatus = z.infer<typeof granterStatus>;

export const outcome = z.enum(['idle', 'applied', 'failed', 'refused']);
export type Outcome = z.infer<typeof outcome>;

export const report = z.strictObject({
  schema: z.literal('mesh.report'),
  version: z.literal(1),
  node: nodeName,
  /** How often this host was started, and the report's number since then. A lower pair never replaces a higher (D20). */
  boot: z.int().positive(),
  sequence: z.int().positive(),
  /** idle: the node holds no declaration yet. refused: the node is exactly as it was. failed: part was applied. */
  outcome,
  /** Digest and number of the declaration this speaks of; absent when idle, or when what came could not be read at all. */
  digest: z.string().optional(),
  number: z.int().optional(),
  /** Of how many resources the declaration speaks, and how many of them are as declared. */
  declared: z.int(),
  applied: z.int(),
  /** `waits`: for a value that another module or node is still to give; it is tried again as soon as that moves. */
  failures: z.array(z.strictObject({ resource: z.string(), error: z.string(), waits: z.literal(true).optional() })),
  refusal: z.strictObject({ kind: z.string(), detail: z.string() }).optional(),
  /** What the host put right against drift, and what it found and kept, each a sentence. */
  drift: z.array(z.string()),
  kept: z.array(z.string()),
  /** Modules whose files are left as they are for more than two passes in a row (P10): since when, why, and for which artifacts they wait. */
  postponed: z
    .array(
      z.strictObject({
        module: moduleName,
        since: z.string(),
        reason: z.string(),
        waitsFor: z.array(partName).optional(),
      }),
    )
    .optional(),
  /** The bus holds no declaration for this node, which accepted one before and goes on with it (C76). Absent: it holds one, or could not be asked. */
  declarationGone: z.literal(true).optional(),
  capabilities: z.array(capability),
  /** Ports that the node's carried resources declare (M21), complete each time. */
  carriedPorts: z.array(z.strictObject({ protocol: z.enum(['tcp', 'udp']), port: z.int() })),
  granters: z.array(z.strictObject({ module: moduleName, status: granterStatus })),
  /** The host's reconcile interval, ms: what "quiet" is measured in (D21). */
  intervalMs: z.int().positive(),
  /** The host's own clock, RFC 3339; shown, never compared (C53). */
  stampedAt: z.string(),
});
export type Report = z.infer<typeof report>;
