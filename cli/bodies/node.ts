/** Nodes as answers have them. */
import type { NodeRow } from '../../src/operations/ports/node-rows.ts';
import { rfc3339 } from '../render/time.ts';

/** One node; what is not known of it is not there. */
export function nodeBody({ node, state, address, publicDomain, sealingFingerprint, invitedAt, joinedAt }: NodeRow) {
  return {
    node,
    state,
    ...(address === undefined ? {} : { address }),
    ...(publicDomain === undefined ? {} : { publicDomain }),
    ...(sealingFingerprint === undefined ? {} : { sealingFingerprint }),
    invitedAt: rfc3339(invitedAt),
    ...(joinedAt === undefined ? {} : { joinedAt: rfc3339(joinedAt) }),
  };
}
export type NodeBody = ReturnType<typeof nodeBody>;

/** What it can do, in M11's three ways: never reported, reported nothing, and reported. */
export function capabilitiesBody({ capabilities }: NodeRow) {
  if (capabilities === undefined) return { reported: false, list: [] };
  const list = capabilities.map((one) =>
    one.present
      ? { name: one.name, present: true, detail: one.detail }
      : { name: one.name, present: false, reason: one.reason },
  );
  return { reported: true, list };
}
export type CapabilitiesBody = ReturnType<typeof capabilitiesBody>;
