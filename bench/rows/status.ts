/** `status` of 1,000 nodes and 30,000 module instances, all of them sent and reported. */
import { status } from '../../src/operations/plan/status.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { floorText, sha } from '../floor/plan.ts';
import { alternately, loadNow } from '../measure.ts';
import { meshCommand, type RaisedMesh } from '../raised-mesh.ts';
import { run } from '../run-program.ts';
import type { Row } from '../table.ts';
import { playNodes } from '../virtual-nodes.ts';
import { nodeAt, wideCatalogue, writtenModule } from '../wide-mesh.ts';
import { addWritten, assignAll } from '../world.ts';
import { readNodes } from './declare.ts';
import { floorModule } from './plan.ts';
import { pusher } from './push.ts';

const nodes = 1_000;
const modules = 30;

export async function statusRows(mesh: RaisedMesh): Promise<readonly Row[]> {
  await mesh.clear();
  for (let index = 0; index < modules; index += 1) await addWritten(mesh, writtenModule(index));
  const played = await playNodes(
    mesh,
    Array.from({ length: nodes }, (_, index) => nodeAt(index)),
  );
  await assignAll(mesh);
  const stopTaking = mesh.takeReports();
  await pusher(mesh)();
  await stopTaking();
  await played.stop();
  await mesh.pg.query('analyze');
  const catalogue = wideCatalogue(modules).map(({ manifest }) => floorModule(manifest));
  const inProcess = await alternately(
    {
      floor: async () => void (await byHand(mesh, catalogue)),
      product: async () => {
        const { needsAttention } = await status(mesh.store, sha256Hex, Date.now());
        if (needsAttention) throw new Error('not every node is well');
      },
    },
    { rounds: 25 },
  );
  const load = loadNow();
  const command = await alternately(
    { product: async () => void (await run([meshCommand, 'status', '--json', '--state', mesh.stateDir])) },
    { rounds: 15, warm: 1 },
  );
  return [
    { work: 'status of 1,000 nodes, 30,000 instances', unit: 'ms', ...inProcess, load },
    { work: 'mesh status --json of the same, as a command', unit: 'ms', product: command.product, load: loadNow() },
  ];
}

/** The same facts by hand: what each node should be, what it was sent, what it said. */
async function byHand(mesh: RaisedMesh, catalogue: readonly ReturnType<typeof floorModule>[]): Promise<string> {
  const want = (await readNodes(mesh)).map((node) => ({
    node: node.node,
    digest: `sha256:${sha(floorText(catalogue, node))}`,
  }));
  const { rows } = await mesh.pg.query<{ node: string; sent: string; said: string; outcome: string }>(
    `select s.node, s.digest as sent, r.digest as said, r.outcome, r.received_at from mesh.sent_declarations s join mesh.reports r on r.node = s.node`,
  );
  const by = new Map(rows.map((row) => [row.node, row]));
  return JSON.stringify(want.map(({ node, digest }) => ({ ...by.get(node), same: by.get(node)?.sent === digest })));
}
