/**
 * What the nodes of a bench do, product's and floor's alike in one process beside the controller's: told to look, a product's node
 * gets its declaration as a host does and reports that it is applied, every login granted and seen. Nothing is verified, and nothing
 * written but what a bench asks to be: the files that changed, or credentials, each as the floor's nodes write it.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
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
import { applyFilesIn, type ApplyFiles, type FileOfNode } from './written-files.ts';

/** Asked for the time, ms since 1970, at which each node last reported; answered in JSON, by name. */
export const lastReportsSubject = 'bench.last-reports';

/** What nodes do beside answering. `files`: they write files that changed; `ends`: credentials are written, and granted. */
export type Does = 'nothing' | 'files' | 'ends';

/** What of that there is to do with. */
export type Work = { readonly ends: Ends | undefined; readonly applyFiles: ApplyFiles | undefined };

/** Works until the process ends. */
export async function workAsNodes(stateDir: string, does: Does): Promise<void> {
  const foundation = await readFoundation(stateDir);
  if (foundation === undefined) throw new Error(`no mesh was raised in ${stateDir}`);
  const bus = await connectBus({
    servers: [foundation.nats.url],
    name: 'nodes',
    credential: await meshCredential((await controllerKeysAt(stateDir)).bus),
  });
  const ends = does === 'ends' ? await makeEnds({ stateDir, foundation }) : undefined;
  const applyFiles = (of: string) => (does === 'files' ? applyFilesIn(madeFolder(stateDir, of)) : undefined);
  workAsProductNodes(bus, { ends, applyFiles: applyFiles('product') });
  workAsFloorNodes(bus, { ends, applyFiles: applyFiles('floor') });
  await bus.nats.flush();
}

function madeFolder(stateDir: string, of: string): string {
  const folder = path.join(stateDir, `files-${of}`);
  mkdirSync(folder, { recursive: true });
  return folder;
}

function workAsProductNodes(bus: BusConnection, { ends, applyFiles }: Work): void {
  const sequences = new Map<NodeName, number>();
  const lastReports = new Map<NodeName, number>();
  const held = new Map<NodeName, ReadonlySet<string>>();
  const takeUp = async (node: NodeName, body: string): Promise<void> => {
    if (applyFiles !== undefined) await applyFiles(node, withFiles.parse(JSON.parse(body)).resources.flatMap(fileIn));
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

const withFiles = z.object({
  resources: z.array(z.object({ path: z.string().optional(), content: z.string().optional() })),
});
type Resource = z.infer<typeof withFiles>['resources'][number];
const fileIn = ({ path: at, content }: Resource): FileOfNode[] =>
  at === undefined || content === undefined ? [] : [{ path: at, content }];

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
