/**
 * One pass of a host that is killed before its n-th change of the machine: whatever goes through Node's own functions that
 * write, name, remove, start or signal is counted, so no change is missed. Run with: state folder, root, envelope file, n (0:
 * to the end). Says each change on stdout, and what the pass came to.
 */
import { readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { countChanges } from './count-changes.ts';

const [stateDir = '', root = '', envelopeFile = '', killBefore = '0'] = process.argv.slice(2);
const change = await countChanges(Number(killBefore));

const { Reconciler } = await import('../../src/host/pass.ts');
const { Supervisor } = await import('../../src/host/processes/supervisor.ts');
const { openLedger } = await import('../../src/host/ledger.ts');
const { keysAt } = await import('../../src/host/keys.ts');
const { ProvisionerClient } = await import('../../src/host/provisioning/client.ts');
const { readNode } = await import('../../src/host/state.ts');
const { connectBus } = await import('../../src/bus/connection.ts');
const { clientCredential } = await import('../../src/bus/token.ts');
const { until } = await import('../../src/foundation/until.ts');
const { countPuts } = await import('./count-puts.ts');
const { patience, quiet } = await import('../host/node.ts');

const node = await readNode(stateDir);
if (node === undefined) throw new Error('it has not joined');
const supervisor = new Supervisor({ stateDir, say: quiet, patience, turned: () => undefined });
await supervisor.adopt();
const keys = await keysAt(stateDir);
const client = new ProvisionerClient({ node, stateDir, root, sealingKey: keys.sealing, say: quiet });
const ending = new AbortController();
if (node.clientJwt !== undefined) {
  const credential = clientCredential({ node: node.name, clientJwt: node.clientJwt }, keys.client);
  const probe = await connectBus({ servers: node.servers, name: 'probe', credential });
  countPuts(probe, change);
  await probe.close();
  let isThere = false;
  void client.keep(keys, () => void (isThere = true), ending.signal);
  await until(async () => isThere, { withinMs: 20_000, what: 'the client to be on the bus' });
}
const surroundings = { root, bin: '/nowhere', nodeFolder: path.dirname(process.execPath) };
const reconciler = new Reconciler({
  stateDir,
  node,
  with: {
    ledger: await openLedger(stateDir),
    supervisor,
    sealingKey: keys.sealing,
    surroundings,
    client,
  },
  say: quiet,
});
await reconciler.takeUp();
const came: unknown = JSON.parse(readFileSync(envelopeFile, 'utf8'));
const pass = await reconciler.pass({ kind: 'came', envelope: came }, []);
writeSync(1, `pass ${JSON.stringify(pass)}\n`);
supervisor.close();
process.exit(0);
