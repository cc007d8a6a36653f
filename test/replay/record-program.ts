/**
 * Records what every act writes into its history, from real runs: node --import ./test/support/typescript.mjs
 * test/replay/record-program.ts [name…], after `npm run build`. Run it when an act has changed, with new names for what is new:
 * the files of before are what still runs somewhere. Only those named are written; without a name, every one.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { enrolId, pushId, removalId } from '../../src/domain/act/act.ts';
import { registryId } from '../../src/domain/act/registry.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { raiseActingMesh } from '../acts/acting-mesh.ts';
import { addAll, consumerModule, databaseModule } from '../acts/catalogue.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';
import { declarePair, rotationOf } from '../chaos/chaos-mesh.ts';
import { playPair } from '../chaos/played-pair.ts';

const wanted = new Set(process.argv.slice(2));
const mesh = await raiseActingMesh();
const save = async (name: string, workflowId: string): Promise<void> => {
  const handle = mesh.temporal.workflow.getHandle(workflowId);
  await handle.result().catch(() => undefined);
  const history: unknown = JSON.parse(historyToJSON(await handle.fetchHistory()));
  if (wanted.size > 0 && !wanted.has(name)) return;
  const file = path.join(import.meta.dirname, 'histories', `${name}.json`);
  writeFileSync(file, `${JSON.stringify({ workflowId, history: withoutMachine(history) }, null, 1)}\n`);
};

/** Who ran it, and from where, is nobody's business and different each time. What the SDK noted of itself stays: it switches its checks on. */
function withoutMachine(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMachine);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'stackTrace' && key !== 'workerVersion')
      .map(([key, of]) => [key, key === 'identity' ? 'controller' : withoutMachine(of)]),
  );
}

const hasRun = (workflowId: string): Promise<boolean> =>
  mesh.temporal.workflow
    .getHandle(workflowId)
    .describe()
    .then(
      () => true,
      () => false,
    );

try {
  await mesh.startController();
  const provider = await mesh.join('alpha');
  const consumer = await mesh.join('beta');
  await save('enrol-joined', enrolId(provider.node));
  const ends = { provider, consumer };
  await addAll(mesh.store, [databaseModule, consumerModule('notes', 'json'), consumerModule('ledger', 'password')]);
  await declarePair(mesh, ends, 'notes');
  await declarePair(mesh, ends, 'ledger');

  const pair = playPair(ends, { module: 'notes', overlaps: true });
  const push = pushId(undefined, sha256Hex);
  await mesh.start('pushNodes', push, { person: 'ada' });
  await save('push-sent', push);
  await mesh.start('pushNodes', push, { person: 'ada' });
  await save('push-unchanged', push);
  const stranger = nodeName.parse('gamma');
  const refused = pushId([stranger], sha256Hex);
  await mesh.start('pushNodes', refused, { person: 'ada', nodes: [stranger] });
  await save('push-refused', refused);

  for (const [name, module] of [
    ['rotate-overlapping', 'notes'],
    ['rotate-abrupt', 'ledger'],
  ] as const) {
    const { id, request } = rotationOf(ends, module);
    await mesh.start('rotateCredential', id, request);
    await save(name, id);
  }
  const { id: unknown, request } = rotationOf(ends, 'nobody');
  await mesh.start('rotateCredential', unknown, request);
  await save('rotate-refused', unknown);

  await mesh.killController();
  const undone = rotationOf(ends, 'notes');
  await (await mesh.start('rotateCredential', undone.id, undone.request)).cancel();
  await mesh.startController();
  await save('rotate-cancelled', undone.id);
  await pair.stop();

  const provisioner = startTypeScript(path.join(import.meta.dirname, '../seats/provisioner-program.ts'), [
    mesh.stateDir,
    'mesh-provisioner',
    'controller',
    '5000',
  ]);
  await until(async () => hasRun(registryId), { withinMs: 60_000, what: 'the registry to be compiled' });
  await save('registry', registryId);
  provisioner.kill('SIGTERM');

  const removal = removalId(consumer.node);
  await mesh.start('removeNode', removal, { node: consumer.node, person: 'ada' });
  await save('remove', removal);
} finally {
  await mesh.close();
}
