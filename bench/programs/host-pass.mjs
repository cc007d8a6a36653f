// Runs passes of the compiled host over a declaration that is applied already, in turn with the least that notices drift: reads
// and digests the same files and looks at the same folders. Prints processor time of both, ms, and what the process weighs, MB.
import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openLedger } from '../../dist/src/host/ledger.js';
import { keysAt } from '../../dist/src/host/keys.js';
import '../../dist/src/host/loop.js'; // all that a host has loaded
import { Reconciler } from '../../dist/src/host/pass.js';
import { ProvisionerClient } from '../../dist/src/host/provisioning/client.js';
import { Supervisor } from '../../dist/src/host/processes/supervisor.js';
import { makeStateFolder } from '../../dist/src/host/state.js';
import { signEnvelope } from '../../dist/src/sealing/envelope.js';
import { makeDeclarationKey } from '../../dist/src/sealing/signing.js';

const [modules, files, rounds] = process.argv.slice(2).map(Number);
const base = await mkdtemp(path.join(tmpdir(), 'mesh-bench-host-'));
try {
  const [root, stateDir] = [path.join(base, 'root'), path.join(base, 'state')];
  await makeStateFolder(stateDir);
  await mkdir(root);
  const keys = await keysAt(stateDir);
  const key = makeDeclarationKey();
  const quiet = { info() {}, warn() {}, error() {}, debug() {} };
  const supervisor = new Supervisor({ stateDir, say: quiet, turned() {} });
  await supervisor.adopt();
  const surroundings = { root, bin: base, nodeFolder: base };
  const node = { name: 'anvil', verifyKey: key.publicKey };
  // Nothing here is filled in: its client has no account, and asks nobody.
  const client = new ProvisionerClient({ node, stateDir, root, sealingKey: keys.sealing, say: quiet });
  const applying = { ledger: await openLedger(stateDir), supervisor, sealingKey: keys.sealing, surroundings, client };
  const reconciler = new Reconciler({ stateDir, node, with: applying, say: quiet });
  const resources = Array.from({ length: modules }, (_, index) => resourcesOf(`mod-${index}`)).flat();
  const declared = {
    schema: 'mesh.declaration',
    version: 1,
    node: 'anvil',
    address: '127.0.0.1',
    capabilities: [],
    resources,
    granters: [],
  };
  const envelope = await signEnvelope({ node: 'anvil', number: 1, text: JSON.stringify(declared), key });
  const pass = () => reconciler.pass({ kind: 'came', envelope }, []);
  const look = async () => {
    for (const one of resources) {
      const stats = await lstat(root + one.path);
      if (
        one.kind === 'file' &&
        createHash('sha256')
          .update(await readFile(root + one.path))
          .digest('hex').length +
          stats.mode ===
          0
      )
        return;
    }
  };
  const first = await pass();
  if (first.applied?.applied !== resources.length) throw new Error(`not applied: ${JSON.stringify(first)}`);
  const figures = { floor: [], product: [] };
  for (let round = 0; round < rounds + 3; round += 1)
    for (const [name, work] of [
      ['floor', look],
      ['product', pass],
    ]) {
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      if (round >= 3) figures[name].push((user + system) / 1000);
    }
  supervisor.close();
  console.log(JSON.stringify({ ...figures, rssMb: process.memoryUsage().rss / 1e6 }));
} finally {
  await rm(base, { recursive: true, force: true });
}

function resourcesOf(module) {
  const folder = `/etc/${module}`;
  return [
    { id: `${module}/directory${folder}`, module, kind: 'directory', path: folder, mode: '0755', unknown: 'program' },
    ...Array.from({ length: files }, (_, at) => {
      const file = `${folder}/f${at}.conf`;
      return {
        id: `${module}/file${file}`,
        module,
        kind: 'file',
        path: file,
        mode: '0640',
        content: `fixed ${at} ${'x'.repeat(900)}\n`,
        encoding: 'utf8',
      };
    }),
  ];
}
