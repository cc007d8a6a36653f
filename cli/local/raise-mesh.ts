/** Raises a whole mesh on this machine (U11): the foundation, the controller, the provisioner, and as many nodes as were asked for. */
import path from 'node:path';

import { controllerKeysAt } from '../../src/foundation/controller-keys.ts';
import { raiseFoundation } from '../../src/foundation/foundation.ts';
import { holdState } from '../../src/foundation/lock.ts';
import { serverClaims } from '../../src/bus/identity.ts';
import { isRefusal, type Refusal } from '../../src/domain/refusal/refusal.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { Context } from '../context.ts';
import { withController, type Controller } from '../controller.ts';
import { localNodeFolder, localNodeRoot } from '../node-folders.ts';
import { startController, startHost, startProvisioner } from './kept-programs.ts';
import { joinLocalNode, localAddress, localNodeName, localNodes } from './local-nodes.ts';

export type RaisedNode = {
  readonly node: NodeName;
  readonly address: string;
  readonly state: string;
  readonly root: string;
};
export type RaisedMesh = {
  readonly state: string;
  readonly postgres: string;
  readonly nats: string;
  readonly temporal: string;
  readonly temporalUi: string;
  readonly nodes: readonly RaisedNode[];
};

/**
 * Raises all of it and returns once it serves, and every node here has reported. What runs is taken as it is; what was cut
 * off is finished. `nodes`: how many there are to be at least; those that were made before are started in any case.
 * Refusals: `program-missing`, `port-taken`, and those of inviting and joining.
 */
export async function raiseMesh(context: Context, nodes: number): Promise<RaisedMesh | Refusal> {
  const { stateFolder, env } = context.settings;
  const { say } = context.progress;
  const keys = await controllerKeysAt(stateFolder);
  const foundation = await raiseFoundation({ stateDir: stateFolder, env, trust: await serverClaims(keys.bus), say });
  if (isRefusal(foundation)) return foundation;
  const release = await holdState(path.join(stateFolder, 'run', 'programs.lock'));
  try {
    const ran = await migrate({ connection: foundation.postgres });
    if (ran.length > 0) say(`The store is brought up to date: ${ran.join(', ')}`);
    const started = await startController(stateFolder);
    if (isRefusal(started)) return started;
    say(`The controller ${started.wasRunning ? 'already runs' : 'started'}`);
    return await withController(context, async (controller) => {
      const [provisioner, raised] = await Promise.all([
        raiseProvisioner(context),
        raiseNodes(controller, context, nodes),
      ]);
      if (isRefusal(provisioner)) return provisioner;
      if (isRefusal(raised)) return raised;
      const { postgres, nats, temporal } = foundation;
      return {
        state: stateFolder,
        postgres: `${postgres.host}:${postgres.port}`,
        nats: nats.url,
        temporal: temporal.address,
        temporalUi: temporal.uiUrl,
        nodes: raised,
      };
    });
  } finally {
    await release();
  }
}

async function raiseProvisioner({ settings, progress }: Context): Promise<Refusal | undefined> {
  const started = await startProvisioner(settings.stateFolder);
  if (isRefusal(started)) return started;
  progress.say(`The provisioner ${started.wasRunning ? 'already runs' : 'started'}`);
  return undefined;
}

async function raiseNodes(
  controller: Controller,
  context: Context,
  atLeast: number,
): Promise<readonly RaisedNode[] | Refusal> {
  const { stateFolder } = context.settings;
  const before = await localNodes(stateFolder);
  const names = [...new Set([...before, ...Array.from({ length: atLeast }, (_, index) => localNodeName(index))])];
  const raised = await Promise.all(names.map((node) => raiseNode(controller, context, node)));
  const refused = raised.find(isRefusal);
  if (refused !== undefined) return refused;
  return raised
    .flatMap((one) => (isRefusal(one) ? [] : [one]))
    .map((one) => ({
      ...one,
      state: localNodeFolder(stateFolder, one.node),
      root: localNodeRoot(stateFolder, one.node),
    }));
}

async function raiseNode(
  controller: Controller,
  context: Context,
  node: NodeName,
): Promise<{ readonly node: NodeName; readonly address: string } | Refusal> {
  const { stateFolder } = context.settings;
  const index = indexOf(node);
  const refused = await joinLocalNode(controller, context, { node, index });
  if (refused !== undefined) return refused;
  const started = await startHost(stateFolder, node);
  if (isRefusal(started)) return started;
  await untilReported(controller, node);
  const address = localAddress(controller.foundation, index);
  context.progress.say(`${node} ${started.wasRunning ? 'already runs' : 'started'} at ${address}`);
  return { node, address };
}

function indexOf(node: NodeName): number {
  for (let index = 0; index < 200; index += 1) if (localNodeName(index) === node) return index;
  throw new Error(`${node} is none of the names that nodes on this machine get`);
}

/** Until the mesh has heard of it: whoever starts it wants to assign something next, and that asks what it can do. */
async function untilReported({ store }: Controller, node: NodeName): Promise<void> {
  const until = Date.now() + 60_000;
  for (;;) {
    const [row] = await store.read((view) => view.nodeRows([node]));
    if (row?.capabilities !== undefined) return;
    if (Date.now() > until)
      throw new Error(`${node} was started but has not reported`, { cause: new Error('its log says why') });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
