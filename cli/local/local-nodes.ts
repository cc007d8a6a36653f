/** Nodes that `mesh up` runs on the controller's own machine: each with its own state, root and loopback address. */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';

import type { Foundation } from '../../src/foundation/foundation.ts';
import { isRefusal, type Refusal } from '../../src/domain/refusal/refusal.ts';
import { nodeName, type NodeName } from '../../src/domain/words/names.ts';
import { joinMesh } from '../../src/host/join.ts';
import { readNode } from '../../src/host/state.ts';
import type { Context } from '../context.ts';
import type { Controller } from '../controller.ts';
import { invite } from '../invitations.ts';
import { localNodeFolder, nodeStateFolder } from '../node-folders.ts';
import { sayOn } from '../processes.ts';
import { writeSecretFile } from '../secret-files.ts';

const letters = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa'];

/** The name of the nth node of a machine, from 0 on. */
export function localNodeName(index: number): NodeName {
  return nodeName.parse(letters[index] ?? `node-${index + 1}`);
}

/** The nodes that live in a state folder, joined or about to, by the order in which they were made. */
export async function localNodes(stateFolder: string): Promise<readonly NodeName[]> {
  const folders = await readdir(path.join(stateFolder, 'nodes')).catch((): string[] => []);
  const known = new Set(folders);
  const named = Array.from({ length: 200 }, (_, index) => localNodeName(index)).filter((name) => known.has(name));
  return named;
}

/** Where a node here is reached: the addresses of this mesh's own loopback network, one a node. */
export function localAddress({ nodePrefix }: Foundation, index: number): string {
  return `${nodePrefix}${index + 10}`;
}

export type LocalJoin = { readonly node: NodeName; readonly index: number };

/**
 * Makes this node one of the mesh, unless it is: invites it and joins with the invitation, both in this process, so that
 * the token never leaves it but for a file in the node's folder. Cut off and run again it goes on where it was.
 */
export async function joinLocalNode(
  controller: Controller,
  context: Context,
  { node, index }: LocalJoin,
): Promise<Refusal | undefined> {
  const folder = localNodeFolder(context.settings.stateFolder, node);
  const stateDir = nodeStateFolder(folder);
  const tokenFile = path.join(folder, 'invitation');
  if ((await readNode(stateDir)) !== undefined) return undefined;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const address = localAddress(controller.foundation, index);
  const join = (token: string) =>
    joinMesh({ token, stateDir, address, say: sayOn(context.progress), withinMs: 60_000 });
  const kept = await readFile(tokenFile, 'utf8').catch(() => undefined);
  const joinedBefore = kept !== undefined && !isRefusal(await join(kept));
  await rm(tokenFile, { force: true });
  if (joinedBefore) return undefined;
  const invited = await invite(controller, context, { node, expiresInMs: 600_000, timeoutMs: 30_000 });
  if (isRefusal(invited)) return invited;
  await writeSecretFile(tokenFile, invited.line);
  const joined = await join(invited.line);
  await rm(tokenFile, { force: true });
  return isRefusal(joined) ? joined : undefined;
}
