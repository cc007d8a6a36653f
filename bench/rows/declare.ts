/** Declaring: from the store's rows to every node's message on its subject and the record of it. */
import { floorTexts, type FloorNode } from '../floor/plan.ts';
import { composedOf, floorSend, floorSender } from '../floor/sending.ts';
import { inActivity } from '../in-activity.ts';
import { alternately, loadNow } from '../measure.ts';
import type { RaisedMesh } from '../raised-mesh.ts';
import { targeted, type Row } from '../table.ts';
import { playNodes } from '../virtual-nodes.ts';
import { moduleAt, nodeAt, wideCatalogue, writtenModule } from '../wide-mesh.ts';
import { addWritten, assignAll } from '../world.ts';
import { floorModule } from './plan.ts';

const nodes = 1_000;
const modules = 20;

/** One file's content changes everywhere, and with it every declaration. */
export async function declareRows(mesh: RaisedMesh): Promise<readonly Row[]> {
  await mesh.clear();
  for (let index = 0; index < modules; index += 1) await addWritten(mesh, writtenModule(index));
  const played = await playNodes(
    mesh,
    Array.from({ length: nodes }, (_, index) => nodeAt(index)),
  );
  // Nobody reports: only the sending is measured.
  await played.stop();
  await assignAll(mesh);
  const { steps } = mesh;
  const sender = await floorSender(mesh);
  const ways = {
    floor: async (round: number) => {
      const catalogue = wideCatalogue(modules).map(({ manifest }) => floorModule(manifest));
      const began = performance.now();
      const changed = catalogue.map((one, at) =>
        at === 3 ? { ...one, file: { ...one.file, content: `round = ${round}\n` } } : one,
      );
      const composed = (await readNodes(mesh)).map((node) => {
        const { text, resources } = floorTexts(changed, node);
        return composedOf(node.node, text, resources);
      });
      await floorSend(sender, composed, round + 1);
      return performance.now() - began;
    },
    product: async (round: number) => {
      await addWritten(mesh, changedModule(round));
      const act = `declare-${round}`;
      const began = performance.now();
      await inActivity(() => steps.preparePush(act, act, 'bench', { person: 'ada' }));
      await inActivity(() => steps.sendDeclarations(act));
      const took = performance.now() - began;
      await sentAll(mesh, act);
      return took;
    },
  };
  const measured = { ...(await alternately(ways, { rounds: 7 })), load: loadNow() };
  return [
    {
      work: 'declare (read, plan, sign, send, record) 1,000 × 20',
      unit: 'ms',
      ...measured,
      ...targeted(1.5, measured),
    },
  ];
}

function changedModule(round: number): object {
  const name = moduleAt(3);
  const written = writtenModule(3);
  const file = { kind: 'file', path: `/etc/${name}/a.conf`, mode: '0640', content: `round = ${round}\n` };
  const resources = written['resources'];
  if (!Array.isArray(resources)) throw new Error('a module without resources');
  return { ...written, resources: [resources[0], file, resources[2]] };
}

/** The floor's reads: where each node is and which ports it has. */
export async function readNodes({ pg }: RaisedMesh): Promise<readonly FloorNode[]> {
  const { rows } = await pg.query<{ node: string; address: string; ports: string }>(
    `select n.node, n.address, p.ports
       from mesh.nodes n
       join (select node, string_agg(port::text, ' ' order by port) as ports from mesh.ports group by node) p on p.node = n.node`,
  );
  return rows.map(({ node, address, ports }) => ({ node, address, ports: ports.split(' ').map(Number) }));
}

async function sentAll({ pg }: RaisedMesh, act: string): Promise<void> {
  const { rows } = await pg.query<{ sent: number }>(
    `select jsonb_array_length(detail->'sent') as sent from mesh.acts where act = $1`,
    [act],
  );
  if (rows[0]?.sent !== nodes) throw new Error(`only ${rows[0]?.sent} of ${nodes} were sent`);
}
