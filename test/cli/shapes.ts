/** What programs may rely on: the fields of each read, and no others. */
import { z } from 'zod';

const at = z.iso.datetime();
const texts = z.array(z.string());
const node = z.strictObject({
  node: z.string(),
  state: z.enum(['invited', 'proven', 'joined']),
  address: z.string().optional(),
  publicDomain: z.string().optional(),
  sealingFingerprint: z.string().optional(),
  invitedAt: at,
  joinedAt: at.optional(),
});
const act = z.strictObject({
  act: z.string(),
  workflowId: z.string(),
  kind: z.enum(['enrol', 'push', 'rotate']),
  summary: z.string(),
  person: z.string(),
  stage: z.string(),
  startedAt: at,
  committedAt: at.optional(),
  endedAt: at.optional(),
  waitsFor: texts,
  ui: z.url(),
});
const capability = z.strictObject({
  name: z.string(),
  present: z.boolean(),
  detail: z.record(z.string(), z.string()).optional(),
  reason: z.string().optional(),
});
const port = z.strictObject({
  module: z.string(),
  listens: z.string(),
  protocol: z.enum(['tcp', 'udp']),
  port: z.int(),
  fixed: z.boolean(),
});
const nodePlan = z.strictObject({
  node: z.string(),
  state: z.string(),
  told: z.enum(['same', 'behind', 'never told']),
  resolvable: z.literal(true),
  digest: z.string().startsWith('sha256:'),
  add: texts,
  change: texts,
  remove: texts,
  routes: z.array(z.strictObject({ module: z.string(), listens: z.string(), name: z.string() })),
  unrouted: z.array(z.strictObject({ module: z.string(), says: z.string() })),
  takes: z.array(z.strictObject({ module: z.string(), provision: z.string(), from: z.string() })),
  wouldMake: z.array(z.strictObject({ path: z.string(), why: z.string() })),
});
const event = z.strictObject({
  id: z.int(),
  at,
  person: z.string(),
  kind: z.string(),
  about: z.string(),
  detail: z.record(z.string(), z.unknown()),
});
const nodeStatus = z.strictObject({
  node: z.string(),
  state: z.string(),
  concern: z.enum(['broken', 'not answering', 'out of date', 'well']),
  told: z.enum(['same', 'behind', 'never told', 'unresolvable']),
  report: z.enum(['current', 'waiting']).optional(),
  outcome: z.enum(['idle', 'applied', 'failed', 'refused']).optional(),
  hearing: z.enum(['heard', 'quiet', 'silent']),
  unreachable: z.strictObject({ since: at }).optional(),
  sent: z.strictObject({ digest: z.string(), number: z.int(), at: at.optional() }).optional(),
  lastReport: z.looseObject({ at, applied: z.int(), declared: z.int() }).optional(),
  unresolvable: z.array(z.looseObject({ kind: z.string() })).optional(),
});
const whole = (schema: string, body: z.ZodRawShape) =>
  z.strictObject({ schema: z.literal(schema), version: z.literal(1), ...body });

/** By command line, on a mesh of two nodes that have just joined. */
export const shapes: Readonly<Record<string, z.ZodType>> = {
  'node list': whole('mesh.nodes', { nodes: z.array(node).length(2) }),
  'node show alpha': whole('mesh.node', {
    ...node.shape,
    capabilities: z.strictObject({ reported: z.literal(true), list: z.array(capability).min(1) }),
    modules: texts,
    pins: z.array(z.strictObject({ provision: z.string(), provider: z.string() })),
    ports: z.array(port),
    leavingPorts: z.array(port),
  }),
  'module list': whole('mesh.modules', {
    modules: z.array(z.strictObject({ module: z.string(), version: z.string(), digest: z.string(), addedAt: at })),
  }),
  settings: whole('mesh.settings', {
    settings: z.array(z.unknown()).length(0),
    labels: z.array(z.unknown()).length(0),
  }),
  plan: whole('mesh.plan', { hasChanges: z.boolean(), nodes: z.array(nodePlan).length(2) }),
  events: whole('mesh.events', { events: z.array(event).min(1) }),
  acts: whole('mesh.acts', {
    acts: z.array(act).length(2),
    unbegun: z.array(z.unknown()).length(0),
    temporalUi: z.url(),
  }),
  'act show enrol/alpha': whole('mesh.act', { ...act.shape, detail: z.record(z.string(), z.unknown()) }),
  'why alpha': whole('mesh.why', {
    thing: z.literal('alpha'),
    kind: z.literal('node'),
    links: z.array(z.strictObject({ of: z.string(), says: z.string(), holds: z.boolean(), next: texts })).min(3),
    next: texts,
  }),
  'config show': whole('mesh.config', {
    raised: z.literal(true),
    settings: z.array(z.strictObject({ name: z.string(), value: z.string(), from: z.string() })).min(8),
  }),
  'secret list': whole('mesh.secrets', { secrets: z.array(z.unknown()).length(0) }),
};

export const statusShape = whole('mesh.status', {
  nodes: z.array(nodeStatus),
  acts: z.array(z.looseObject({ act: z.string(), waitsFor: texts })),
  ungranted: z.array(z.unknown()).length(0),
  unbegun: z.array(z.unknown()).length(0),
  unreadable: z.strictObject({ count: z.int(), subjects: texts }),
  needsAttention: z.boolean(),
  temporalUi: z.url(),
});
