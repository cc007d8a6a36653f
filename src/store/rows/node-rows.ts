import { z } from 'zod';
import { capability } from '../../domain/report/report.ts';
import { nodeName } from '../../domain/words/names.ts';
import type {
  Enrolment,
  InvitationReads,
  InvitationRows,
  KeyHolderReads,
  NodeReads,
  NodeRemovalRows,
  NodeRows,
  SealingKeyReads,
} from '../../operations/ports/node-rows.ts';
import type { Query } from '../query.ts';

const nodeRow = z
  .object({
    node: nodeName,
    state: z.enum(['invited', 'proven', 'joined']),
    address: z.string().exactOptional(),
    identityKey: z.string().exactOptional(),
    sealingFingerprint: z.string().exactOptional(),
    overlayKey: z.string().exactOptional(),
    clientKey: z.string().exactOptional(),
    publicDomain: z.string().exactOptional(),
    invitedAt: z.date(),
    joinedAt: z.date().exactOptional(),
    reported: z.boolean(),
    capabilities: z.array(capability),
    carriedPorts: z.array(z.object({ protocol: z.enum(['tcp', 'udp']), port: z.int() })),
  })
  // A node that never reported has no list of capabilities, not an empty one (M11).
  .transform(({ reported, capabilities, ...row }) => (reported ? { ...row, capabilities } : row));

/** A capability as JSON, in the shape of a report's. */
const capabilityJson = `case when c.present then jsonb_build_object('name', c.name, 'present', true, 'detail', c.detail)
  else jsonb_build_object('name', c.name, 'present', false, 'reason', coalesce(c.reason, '')) end`;

export function nodeReads(query: Query): NodeReads & SealingKeyReads & KeyHolderReads {
  return {
    nodeRows: (nodes) =>
      query.rows(
        nodeRow,
        `select n.node, n.state, n.address, n.identity_key as "identityKey", n.sealing_fingerprint as "sealingFingerprint",
                n.overlay_key as "overlayKey", n.client_key as "clientKey", n.public_domain as "publicDomain", n.invited_at as "invitedAt", n.joined_at as "joinedAt",
                n.capabilities_reported as reported,
                coalesce((select jsonb_agg(${capabilityJson} order by c.name)
                            from mesh.node_capabilities c where c.node = n.node), '[]') as capabilities,
                coalesce((select jsonb_agg(jsonb_build_object('protocol', p.protocol, 'port', p.port) order by p.port, p.protocol)
                            from mesh.carried_ports p where p.node = n.node), '[]') as "carriedPorts"
           from mesh.nodes n
          where $1::text[] is null or n.node = any ($1::text[])
          order by n.node`,
        [nodes ?? null],
      ),
    keyHolder: async (key) =>
      (
        await query.first(
          z.object({ node: nodeName }),
          `select node from mesh.nodes
            where identity_key = $1 or overlay_key = $1 or client_key = $1 or sealing_key = $2
            order by node limit 1`,
          [key, Buffer.from(key, 'base64')],
        )
      )?.node,
    sealingKeys: async (nodes) => {
      const rows = await query.rows(
        z.object({ node: nodeName, key: z.instanceof(Uint8Array) }),
        `select node, sealing_key as key from mesh.nodes
          where ($1::text[] is null or node = any ($1::text[])) and sealing_key is not null`,
        [nodes ?? null],
      );
      return new Map(rows.map(({ node, key }) => [node, new Uint8Array(key)]));
    },
  };
}

export function nodeRows(query: Query): NodeRows & NodeRemovalRows {
  return {
    deleteNode: async (node) => {
      await query.run(`delete from mesh.pair_secrets where consumer_node = $1 or provider_node = $1`, [node]);
      await query.run(`delete from mesh.own_secrets where node = $1`, [node]);
      await query.run(`delete from mesh.nodes where node = $1`, [node]);
    },
    ...nodeReads(query),
    insertNode: async (node) =>
      (await query.run(`insert into mesh.nodes (node, state) values ($1, 'invited') on conflict (node) do nothing`, [
        node,
      ])) === 1,
    setNodeProven: async (node, { identityKey, sealingKey, sealingFingerprint, overlayKey, clientKey, address }) => {
      await query.run(
        `update mesh.nodes
            set state = case when state = 'joined' then state else 'proven' end, identity_key = $2, sealing_key = $3, sealing_fingerprint = $4,
                overlay_key = $5, address = $6, client_key = $7
          where node = $1`,
        [
          node,
          identityKey,
          Buffer.from(sealingKey),
          sealingFingerprint,
          overlayKey ?? null,
          address,
          clientKey ?? null,
        ],
      );
    },
    setNodeJoined: async (node) => {
      await query.run(
        `update mesh.nodes set state = 'joined', joined_at = coalesce(joined_at, now()) where node = $1`,
        [node],
      );
    },
    keysOfOthers: (node, { identityKey, sealingKey, overlayKey, clientKey }) =>
      query.rows(
        z.object({ node: nodeName, key: z.enum(['identity', 'sealing', 'overlay', 'client']) }),
        `select n.node, k.key
           from mesh.nodes n
           cross join lateral (values ('identity', n.identity_key = $2), ('sealing', n.sealing_key = $3),
                                      ('overlay', n.overlay_key = $4), ('client', n.client_key = $5)) as k (key, same)
          where n.node <> $1 and k.same
          order by n.node, k.key`,
        [node, identityKey, Buffer.from(sealingKey), overlayKey ?? null, clientKey ?? null],
      ),
  };
}

const enrolmentJson = z
  .object({
    identityKey: z.string(),
    sealingKey: z.base64(),
    sealingFingerprint: z.string(),
    overlayKey: z.string().exactOptional(),
    clientKey: z.string().exactOptional(),
    address: z.string(),
  })
  .transform(({ sealingKey, ...rest }): Enrolment => ({
    ...rest,
    sealingKey: new Uint8Array(Buffer.from(sealingKey, 'base64')),
  }));

const invitationRow = z.object({
  tokenId: z.string(),
  node: nodeName,
  userKey: z.string(),
  createdAt: z.date(),
  expiresAt: z.date(),
  openedAt: z.date().exactOptional(),
  enrolment: enrolmentJson.exactOptional(),
  challengeHash: z.instanceof(Uint8Array).exactOptional(),
  provenAt: z.date().exactOptional(),
  admittedAt: z.date().exactOptional(),
  closedAt: z.date().exactOptional(),
  expired: z.boolean(),
});
const columns = `token_id as "tokenId", node, user_key as "userKey", created_at as "createdAt", expires_at as "expiresAt",
  opened_at as "openedAt", enrolment, challenge_hash as "challengeHash", proven_at as "provenAt",
  admitted_at as "admittedAt", closed_at as "closedAt", expires_at <= now() as expired`;

export function invitationReads(query: Query): InvitationReads {
  return {
    invitationRow: (tokenId) =>
      query.first(invitationRow, `select ${columns} from mesh.invitations where token_id = $1`, [tokenId]),
  };
}

export function invitationRows(query: Query): InvitationRows {
  /** The first time stands: a step that runs twice says nothing new. */
  const setTime = (column: 'opened_at' | 'proven_at' | 'admitted_at' | 'closed_at') => async (tokenId: string) => {
    await query.run(`update mesh.invitations set ${column} = coalesce(${column}, now()) where token_id = $1`, [
      tokenId,
    ]);
  };
  return {
    insertInvitation: async ({ tokenId, node, userKey, expiresAt }) => {
      await query.run(`insert into mesh.invitations (token_id, node, user_key, expires_at) values ($1, $2, $3, $4)`, [
        tokenId,
        node,
        userKey,
        expiresAt,
      ]);
    },
    holdInvitation: (tokenId) =>
      query.first(invitationRow, `select ${columns} from mesh.invitations where token_id = $1 for update`, [tokenId]),
    openInvitations: (node) =>
      query.rows(
        invitationRow,
        `select ${columns} from mesh.invitations
          where node = $1 and closed_at is null and expires_at > now()
          order by created_at`,
        [node],
      ),
    setInvitationOpened: setTime('opened_at'),
    setEnrolment: async (tokenId, { sealingKey, ...rest }, challengeHash) => {
      await query.run(`update mesh.invitations set enrolment = $2, challenge_hash = $3 where token_id = $1`, [
        tokenId,
        JSON.stringify({ ...rest, sealingKey: Buffer.from(sealingKey).toString('base64') }),
        Buffer.from(challengeHash),
      ]);
    },
    setInvitationProven: setTime('proven_at'),
    setInvitationAdmitted: setTime('admitted_at'),
    setInvitationClosed: setTime('closed_at'),
  };
}
