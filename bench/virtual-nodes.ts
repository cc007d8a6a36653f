/**
 * Nodes that are rows, and one listener that answers for all: told to look, a node gets its declaration as a host does and
 * reports at once that it is applied, every login granted and seen. Nothing is verified, and nothing written but credentials
 * where `ends` are given: what is measured is the controller's side, and the floor's nodes do alike.
 */
import { lastDeclaration } from '../src/bus/declarations.ts';
import { publishReport } from '../src/bus/reports.ts';
import { anyNode, changedSubject } from '../src/bus/subjects.ts';
import { declaration, grantList, grantListFile, type Declaration } from '../src/domain/declaration/declaration.ts';
import type { Report } from '../src/domain/report/report.ts';
import { nodeName, type NodeName } from '../src/domain/words/names.ts';
import { makeSealingKey } from '../src/sealing/box.ts';
import { bytesOfBase64 } from '../src/sealing/base64.ts';
import type { Ends } from './ends.ts';
import type { RaisedMesh } from './raised-mesh.ts';

export type VirtualNodes = {
  readonly names: readonly NodeName[];
  /** How many declarations were got and reported so far. */
  reported(): number;
  /** The time, by `performance.now()`, at which `node` last reported. */
  lastReportAt(node: NodeName): number;
  stop(): void;
};

/** Makes the rows of joined nodes, each with a sealing key of its own, and plays them. */
export async function playNodes(mesh: RaisedMesh, names: readonly string[], ends?: Ends): Promise<VirtualNodes> {
  const keys = names.map(() => makeSealingKey());
  await mesh.pg.query(
    `insert into mesh.nodes (node, state, address, sealing_key, sealing_fingerprint, capabilities_reported)
     select node, 'joined', '127.0.0.1', key, fingerprint, true
       from unnest($1::text[], $2::bytea[], $3::text[]) as n (node, key, fingerprint)`,
    [names, keys.map(({ publicKey }) => bytesOfBase64(publicKey)), keys.map(({ fingerprint }) => fingerprint)],
  );
  const sequences = new Map<NodeName, number>();
  const lastReports = new Map<NodeName, number>();
  const held = new Map<NodeName, ReadonlySet<string>>();
  let reported = 0;
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
    const last = await lastDeclaration(mesh.bus, node);
    if (last === undefined || !('envelope' in last)) return;
    const { digest, number, body } = last.envelope;
    await takeUp(node, body);
    const sequence = (sequences.get(node) ?? 0) + 1;
    sequences.set(node, sequence);
    await publishReport(mesh.bus, reportOf(node, { sequence, digest, number, told: bodyOf(body) }));
    lastReports.set(node, performance.now());
    reported += 1;
  };
  const subscription = mesh.bus.nats.subscribe(changedSubject(anyNode), {
    callback(_error, message) {
      void answer(nodeName.parse(message.subject.split('.')[2]));
    },
  });
  return {
    names: names.map((name) => nodeName.parse(name)),
    reported: () => reported,
    lastReportAt: (node) => lastReports.get(node) ?? 0,
    stop: () => subscription.unsubscribe(),
  };
}

const isProvider = (body: string): boolean => !body.includes('"granters":[]');

/** Only a provider's declaration is looked into; of the others the count is enough. */
function bodyOf(body: string): { readonly count: number; readonly granting?: Declaration } {
  if (isProvider(body)) {
    const granting = declaration.parse(JSON.parse(body));
    return { count: granting.resources.length, granting };
  }
  return { count: body.split('"kind":').length - 1 };
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

function grantersOf(told: Declaration): Report['granters'] {
  return told.granters.map(({ module, provision, status }) => {
    const path = `${status.replace(/\.status\.json$/, '')}/${grantListFile}`;
    const list = told.resources.find((one) => one.kind === 'file' && one.path === path);
    if (list?.kind !== 'file') throw new Error(`no grant list at ${path}`);
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
