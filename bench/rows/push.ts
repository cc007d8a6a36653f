/** Pushing to 200 nodes of five files each: nothing changed, and one value changed everywhere. */
import { isDeepStrictEqual } from 'node:util';
import { pushId } from '../../src/domain/act/act.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { filesWith, floorPush } from '../floor/push.ts';
import { inActivity } from '../in-activity.ts';
import { alternately, loadNow } from '../measure.ts';
import type { Does } from '../nodes-at-work.ts';
import type { RaisedMesh } from '../raised-mesh.ts';
import { targeted, type Row } from '../table.ts';
import { playNodes, type VirtualNodes } from '../virtual-nodes.ts';
import { nodeAt } from '../wide-mesh.ts';
import { writtenBy, type Written } from '../../test/support/written-by.ts';
import { addWritten } from '../world.ts';

export const nodes = 200;

export const site = (value: string): object => ({
  module: 'site',
  version: '1.0.0',
  resources: filesWith(value).map((file) => ({ kind: 'file', mode: '0640', ...file })),
});

export async function pushRows(mesh: RaisedMesh, note: (line: string) => void): Promise<readonly Row[]> {
  const played = await playSites(mesh);
  const stopTaking = mesh.takeReports();
  const floor = await floorPush(mesh, played.names);
  const push = pusher(mesh);
  await push();
  const same = await writtenBy(mesh, push);
  asserted(same, { sent: 0 }, 'a push that changes nothing');
  await addWritten(mesh, site('second'));
  const changed = await writtenBy(mesh, push);
  asserted(changed, { sent: nodes }, 'a push that changes every node');
  await mesh.pg.query(`delete from mesh.assignments where node <> 'n0' and node <> 'n1'`);
  await push();
  await addWritten(mesh, site('third'));
  asserted(await writtenBy(mesh, push), { sent: 2 }, 'a push that changes two nodes');
  await mesh.pg.query(
    `insert into mesh.assignments (node, module) select node, 'site' from mesh.nodes on conflict do nothing`,
  );
  await push();
  note(`no-op push of ${nodes} nodes wrote ${words(same)}; one value changed wrote ${words(changed)}`);
  const noop = {
    ...(await alternately({ floor: async () => void (await floor.push('same')), product: push }, { rounds: 15 })),
    load: loadNow(),
  };
  const value = { ...(await changing(mesh, (value) => floor.push(value), push)), load: loadNow() };
  await played.stop();
  const quick = await playSites(mesh, 'nothing');
  await push();
  const alone = { ...(await changing(mesh, (value) => floor.push(`alone ${value}`), push)), load: loadNow() };
  await quick.stop();
  await stopTaking();
  return [
    { work: `no-op push of ${nodes} nodes × 5 files, its steps`, unit: 'ms', ...noop, ...targeted(2, noop) },
    { work: `one value changed on ${nodes} nodes, its steps`, unit: 'ms', ...value, ...targeted(2.5, value) },
    { work: 'the same, where nodes write nothing and answer at once', unit: 'ms', ...alone },
  ];
}

/** The nodes, each with five files, which they write. */
export async function playSites(mesh: RaisedMesh, does: Does = 'files'): Promise<VirtualNodes> {
  await mesh.clear();
  const played = await playNodes(
    mesh,
    Array.from({ length: nodes }, (_, index) => nodeAt(index)),
    does,
  );
  await addWritten(mesh, site('first'));
  await mesh.pg.query(
    'insert into mesh.assignments (node, module) select node, module from mesh.nodes, mesh.modules; analyze',
  );
  return played;
}

async function changing(mesh: RaisedMesh, floor: (value: string) => Promise<number>, push: () => Promise<void>) {
  return alternately(
    {
      floor: async (round) => void (await floor(`value ${round}`)),
      product: async (round) => {
        await addWritten(mesh, site(`value ${round}`));
        const began = performance.now();
        await push();
        return performance.now() - began;
      },
    },
    { rounds: 9 },
  );
}

/** The act's steps, called one after the other in this process: all of a push but Temporal's part. */
export function pusher({ steps }: RaisedMesh): () => Promise<void> {
  let count = 0;
  const sendAndAwait = async (act: string) => {
    await inActivity(() => steps.sendDeclarations(act));
    return inActivity(() => steps.awaitNodes(act));
  };
  return async () => {
    const act = `bench-push-${(count += 1)}`;
    const prepared = await inActivity(() =>
      steps.preparePush(act, pushId(undefined, sha256Hex), 'bench', { person: 'ada' }),
    );
    const result = typeof prepared === 'object' && 'result' in prepared ? prepared.result : await sendAndAwait(act);
    if (result.failedCount + result.unresolvableCount > 0) throw new Error(JSON.stringify(result));
  };
}

/** A push writes and says just what changed: besides the act's own row and its two events, nothing of a node that is as it was. */
function asserted({ rows, messages }: Written, { sent }: { sent: number }, what: string): void {
  const wanted: Written['rows'] = {
    acts: 1,
    events: 2 + 2 * sent,
    ...(sent > 0 && { sent_declarations: sent, reports: sent }),
  };
  const said =
    sent === 0 ? {} : { 'mesh.declare': sent, 'mesh.changed': sent, 'mesh.report': sent, 'mesh.reported': sent };
  if (!isDeepStrictEqual(rows, wanted) || !isDeepStrictEqual(messages, said))
    throw new Error(`${what} wrote ${JSON.stringify({ rows, messages })}`);
}

function words({ rows, messages }: Written): string {
  const listed = (of: object): string =>
    Object.entries(of)
      .map(([name, count]) => `${String(count)} ${name}`)
      .join(', ') || 'none';
  return `rows: ${listed(rows)}; messages: ${listed(messages)}`;
}
