import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { InvitationRow, InvitationRows, NewInvitation, NodeReads, NodeRows, NodeRow } from '../ports/node-rows.ts';
import type { EventRows, Reads, Writes } from '../ports/work.ts';

export type Invited = { readonly node: NodeName; readonly tokenId: string; readonly expiresAt: Date };

/**
 * Records that a machine may join as `node` with the token of this id, until it expires (U16). Refused as `node-exists` when the
 * name belongs to a node that has proven its keys, and when another token for it is still good.
 */
export function inviteNode(
  store: Writes<NodeRows & InvitationRows & EventRows>,
  person: string,
  invitation: NewInvitation,
): Promise<Invited | Refusal> {
  const { node, tokenId, expiresAt } = invitation;
  return store.write(
    person,
    async (tx) => {
      if (!(await tx.insertNode(node))) {
        const [known] = await tx.nodeRows([node]);
        const [open] = await tx.openInvitations(node);
        if (known !== undefined && known.state !== 'invited') return nodeExists(known);
        if (open !== undefined) return alreadyInvited(open);
      }
      await tx.insertInvitation(invitation);
      await tx.event({
        kind: 'node-invited',
        about: node,
        detail: { tokenId, expiresAt: expiresAt.toISOString() },
      });
      return { node, tokenId, expiresAt };
    },
    'serializable',
  );
}

/** Every node, by name; or those named. */
export function listNodes(store: Reads<NodeReads>, nodes?: readonly NodeName[]): Promise<readonly NodeRow[]> {
  return store.read((view) => view.nodeRows(nodes));
}

/** One node; refused as `unknown-node`. */
export async function nodeByName(store: Reads<NodeReads>, node: NodeName): Promise<NodeRow | Refusal> {
  const [found] = await listNodes(store, [node]);
  return found ?? unknownNode(node);
}

/** No node has this name. */
export function unknownNode(node: string): Refusal {
  return {
    kind: 'unknown-node',
    what: `there is no node ${node}`,
    why: 'a node is known once it was invited',
    next: ['mesh node list', `mesh node invite ${node}`],
    facts: { node },
  };
}

function nodeExists({ node, state }: NodeRow): Refusal {
  return {
    kind: 'node-exists',
    what: `there is a node ${node}, and it has ${state === 'joined' ? 'joined' : 'proven its keys'}`,
    why: 'a name belongs to one machine, whose keys its secrets are sealed to',
    next: [`mesh node show ${node}`],
    facts: { node, state },
  };
}

function alreadyInvited({ node, expiresAt }: InvitationRow): Refusal {
  return {
    kind: 'node-exists',
    what: `${node} is invited, with a token that is good until ${expiresAt.toISOString()}`,
    why: 'one machine joins under a name: a second token could let a second one in',
    next: [`mesh act show enrol/${node}`, `mesh act cancel enrol/${node}`],
    facts: { node, expiresAt: expiresAt.toISOString() },
  };
}
