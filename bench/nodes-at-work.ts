/**
 * What the nodes of a bench do, product's and floor's alike in one process beside the controller's: told to look, a product's node
 * gets its declaration as a host does and reports at once that it is applied, every login granted and seen. Nothing is verified,
 * and nothing written but credentials where there are ends: what is measured is the controller's side.
 */
import { z } from 'zod';
import { connectBus, type BusConnection } from '../src/bus/connection.ts';
import { lastDeclaration } from '../src/bus/declarations.ts';
import { meshCredential } from '../src/bus/identity.ts';
import { publishReport } from '../src/bus/reports.ts';
import { anyNode, changedSubject } from '../src/bus/subjects.ts';
import { declaration, grantList, grantListFile } from '../src/domain/declaration/declaration.ts';
import type { Report } from '../src/domain/report/report.ts';
import { nodeName, type NodeName } from '../src/domain/words/names.ts';
import { controllerKeysAt } from '../src/foundation/controller-keys.ts';
import { readFoundation } from '../src/foundation/foundation.ts';
import { makeEnds, type Ends } from './ends.ts';
import { workAsFloorNodes } from './floor/nodes.ts';

/** Asked for the time, ms since 1970, at which each node last reported; answered in JSON, by name. */
export const lastReportsSubject = 'bench.last-reports';

/** Works until the process ends. */
export async function workAsNodes(stateDir: string, hasEnds: boolean): Promise<void> {
  const foundation = await readFoundation(stateDir);
  if (foundation === undefined) throw new Error(`no mesh was raised in ${stateDir}`);
  const bus = await connectBus({
    servers: [foundation.nats.url],
    name: 'nodes',
    credential: await meshCredential((await controllerKeysAt(stateDir)).bus),
  });
  const ends = hasEnds ? await makeEnds({ stateDir, foundation }) : undefined;
  workAsProductNodes(bus, ends);
  workAsFloorNodes(bus, ends);
  await bus.nats.flush();
}

function workAsProductNodes(bus: BusConnection, ends: Ends | undefined): void {
  const sequences = new Map<NodeName, number>();
  const lastReports = new Map<NodeName, number>();
  const held = new Map<NodeName, ReadonlySet<string>>();
  const takeUp = async (node: NodeName, body: string): Promise<void> => {
    if (ends === undefined) return;
    const blobs = new Set([...body.matchAll(/"sealed":"([^"]+)"/g)].map(([, blob = '']) => blob));
    const count = [...blobs].filter((blob) => held.get(node)?.has(blob) !== true).length;
    held.set(node, blobs);
    if (count === 0) return;
    await ends.hold(count);
    if (isProvider(body)) await ends.grant(count);
  };
  const answer = async (node: NodeName): Promise<void> => {
    const last = await lastDeclaration(bus, node);
    if (last === undefined || !('envelope' in last)) return;
    const { digest, number, body } = last.envelope;
    await takeUp(node, body);
    const sequence = (sequences.get(node) ?? 0) + 1;
    sequences.set(node, sequence);
    await publishReport(bus, reportOf(node, { sequence, digest, number, told: bodyOf(body) }));
    lastReports.set(node, performance.timeOrigin + performance.now());
  };
  bus.nats.subscribe(changedSubject(anyNode), {
    callback(_error, message) {
      void answer(nodeName.parse(message.subject.split('.')[2]));
    },
  });
  bus.nats.subscribe(lastReportsSubject, {
    callback: (_error, message) => void message.respond(JSON.stringify(Object.fromEntries(lastReports))),
  });
}

const isProvider = (body: string): boolean => !body.includes('"granters":[]');

/** Of a provider's declaration alone more than the count is looked at: its grant lists. */
const granting = z.object({
  granters: declaration.shape.granters,
  resources: z.array(z.looseObject({ path: z.string().optional(), content: z.string().optional() })),
});
type Granting = z.infer<typeof granting>;

function bodyOf(body: string): { readonly count: number; readonly granting?: Granting } {
  const count = body.split('"kind":').length - 1;
  return isProvider(body) ? { count, granting: granting.parse(JSON.parse(body)) } : { count };
}

function reportOf(
  node: NodeName,
  of: { sequence: number; digest: string; number: number; told: ReturnType<typeof bodyOf> },
): Report {
  const { told, ...about } = of;
  return {
    schema: 'mesh.report',
    version: 1,
    node,
    boot: 1,
    ...about,
    outcome: 'applied',
    declared: told.count,
    applied: told.count,
    failures: [],
    drift: [],
    kept: [],
    capabilities: [],
    carriedPorts: [],
    granters: told.granting === undefined ? [] : grantersOf(told.granting),
    intervalMs: 60_000,
    stampedAt: new Date().toISOString(),
  };
}

function grantersOf(told: Granting): Report['granters'] {
  return told.granters.map(({ module, provision, status }) => {
    const path = `${status.replace(/\.status\.json$/, '')}/${grantListFile}`;
    const list = told.resources.find((one) => one.path === path);
    if (list?.content === undefined) throw new Error(`no grant list at ${path}`);
    const { grants } = grantList.parse(JSON.parse(list.content));
    const entries = grants.map(({ node, module: consumer, generation, login, local }) => ({
      node,
      module: consumer,
      ...(local !== undefined && { local }),
      generation,
      login,
      state: 'granted' as const,
      seen: 1,
      sessionsEnded: 0,
    }));
    return { module, status: { schema: 'mesh.granter-status', version: 1, provision, entries } };
  });
}
