/** Takes down all that `mesh up` raised on this machine; everything is kept. */
import { lowerFoundation } from '../../src/foundation/foundation.ts';
import { stopNode } from '../../src/host/stop-node.ts';
import type { Context } from '../context.ts';
import { localNodeFolder, nodeStateFolder } from '../node-folders.ts';
import { sayOn } from '../processes.ts';
import { stopController, stopHost, stopProvisioner } from './kept-programs.ts';
import { localNodes } from './local-nodes.ts';

/** Ends the hosts and what they run, then the provisioner, the controller and the foundation; answers what ran, in that order. */
export async function lowerMesh(context: Context): Promise<readonly string[]> {
  const { stateFolder } = context.settings;
  const { progress } = context;
  const nodes = await localNodes(stateFolder);
  const hosts = await Promise.all(nodes.map(async (node) => ({ node, was: await lowerNode(context, node) })));
  for (const { node, was } of hosts) progress.say(`${node} ${was}`);
  // It gives its seat up to the controller, so it ends first.
  const provisioner = await stopProvisioner(stateFolder);
  progress.say(`The provisioner ${provisioner}`);
  const controller = await stopController(stateFolder);
  progress.say(`The controller ${controller}`);
  const parts = await lowerFoundation({ stateDir: stateFolder, say: progress.say });
  return [
    ...hosts.flatMap(({ node, was }) => (was === 'stopped' ? [`host-${node}`] : [])),
    ...(provisioner === 'stopped' ? ['provisioner'] : []),
    ...(controller === 'stopped' ? ['controller'] : []),
    ...parts,
  ];
}

async function lowerNode(
  { settings: { stateFolder }, progress }: Context,
  node: string,
): Promise<'stopped' | 'was not running'> {
  const was = await stopHost(stateFolder, node);
  await stopNode({ stateDir: nodeStateFolder(localNodeFolder(stateFolder, node)), say: sayOn(progress) });
  return was;
}
