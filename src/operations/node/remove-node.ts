/** Taking a node out of the mesh for good: what would go, and the step of the act that does it (M4). */
import { z } from 'zod';
import { ownPath, pairPath } from '../../domain/credential/credential.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { Inventory, Pin } from '../../domain/resolution/inventory.ts';
import type { ModuleName, NodeName } from '../../domain/words/names.ts';
import { heldAct } from '../act/act-records.ts';
import type { ActRows } from '../ports/act-rows.ts';
import type { BusCredentialRows } from '../ports/bus-credential-rows.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { InvitationRows, NodeRemovalRows } from '../ports/node-rows.ts';
import { controller, type EventRows, type Reads, type Writes } from '../ports/work.ts';
import { unknownNode } from './invite-node.ts';

/** What goes with a node: texts that name each thing. */
export const removal = z.object({
  node: z.string(),
  /** Pins made on it, and pins at it. */
  pins: z.array(z.string()),
  /** Credentials at either end, and its own secrets; nobody can bring them back. */
  credentials: z.array(z.string()),
  /** The account on the bus that is to be closed; absent when it never had one. */
  accountKey: z.string().optional(),
  /** Accounts of its client and its programs, which are closed with it. */
  otherAccounts: z.array(z.string()).optional(),
});
export type Removal = z.infer<typeof removal>;

/** What removing this node would destroy. Refusals: `unknown-node`, `node-in-use`. */
export function listRemoval(store: Reads<InventoryReads>, node: NodeName): Promise<Removal | Refusal> {
  return store.read(async (view) => removalOf(await view.inventory(), node));
}

type Tx = ActRows &
  InventoryReads &
  NodeRemovalRows &
  Pick<InvitationRows, 'openInvitations'> &
  BusCredentialRows &
  EventRows;

/**
 * The act's one change, in one transaction: the node's rows, the pins on it and at it and its secrets go, and its bus
 * account is marked as taken. Run again it answers what the first run did. Refusals: `unknown-node`, `node-in-use`.
 */
export function removeNodeRows(store: Writes<Tx>, act: string, node: NodeName): Promise<Removal | Refusal> {
  return store.write(
    controller,
    async (tx): Promise<Removal | Refusal> => {
      const row = await heldAct(tx, act);
      const done = removal.safeParse(row.detail['removed']);
      if (done.success) return done.data;
      const going = removalOf(await tx.inventory(), node);
      if ('kind' in going) return going;
      const [open] = await tx.openInvitations(node);
      if (open !== undefined) return stillInvited(node);
      const account = await tx.liveBusCredential('node', node);
      if (account !== undefined) await tx.setBusCredentialRevoked(account.accountKey);
      const otherAccounts = (await tx.liveBusCredentials())
        .filter(
          ({ kind, name }) =>
            (kind === 'client' && name === node) || (kind === 'program' && name.startsWith(`${node}.`)),
        )
        .map(({ accountKey }) => accountKey);
      for (const accountKey of otherAccounts) await tx.setBusCredentialRevoked(accountKey);
      await tx.deleteNode(node);
      const removed = { ...going, ...(account !== undefined && { accountKey: account.accountKey }), otherAccounts };
      await tx.setActStage(act, 'committed', { removed });
      const detail = { act, pins: going.pins, credentials: going.credentials };
      await tx.event({ kind: 'node-removed', about: node, person: row.person, detail });
      return removed;
    },
    'serializable',
  );
}

function removalOf(inventory: Inventory, node: NodeName): Removal | Refusal {
  if (!inventory.nodes.some(({ name }) => name === node)) return unknownNode(node);
  const assigned = inventory.assignments.filter((one) => one.node === node).map(({ module }) => module);
  if (assigned.length > 0) {
    const data = dataFolders(inventory, assigned);
    const lies = data.length === 0 ? '' : `; their data lies in ${data.join(', ')} on that machine, and stays there`;
    return {
      kind: 'node-in-use',
      what: `${node} still has ${assigned.join(', ')}${lies}`,
      why: 'what runs on a node is taken off it first, so that nobody loses a provider by the way',
      next: assigned.map((module) => `mesh unassign ${node} ${module}`),
      facts: { node, modules: assigned, data },
    };
  }
  const pins = inventory.pins.filter((pin) => pin.node === node || pin.provider.node === node).map(pinText);
  const pairs = inventory.pairSecrets
    .filter(({ key }) => key.consumerNode === node || key.providerNode === node)
    .map(({ key }) => pairPath(key));
  const own = inventory.ownSecrets.filter(({ key }) => key.node === node).map(({ key }) => ownPath(key));
  return { node, pins, credentials: [...new Set([...pairs, ...own])].toSorted() };
}

/** The directories whose files are the programs' own: what nobody can bring back (C56). */
function dataFolders(inventory: Inventory, modules: readonly ModuleName[]): readonly string[] {
  return inventory.modules
    .filter(({ manifest }) => modules.includes(manifest.module))
    .flatMap(({ manifest }) =>
      manifest.resources.flatMap((item) =>
        item.kind === 'directory' && item.unknown === 'program' ? [item.path] : [],
      ),
    )
    .toSorted();
}

function pinText({ node, provision, provider }: Pin): string {
  return `${node} takes ${provision} from ${provider.node}${provider.module === undefined ? '' : `/${provider.module}`}`;
}

function stillInvited(node: NodeName): Refusal {
  return {
    kind: 'node-in-use',
    what: `a token for ${node} is still good`,
    why: 'with it a machine could join under a name that is gone',
    next: [`mesh act cancel enrol/${node}`],
    facts: { node },
  };
}
