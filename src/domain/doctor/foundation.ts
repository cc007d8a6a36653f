/** What the mesh stands on, as it answers from here: the store, the bus, Temporal. */
import { whyUnseen, unknown, type Finding, type Looked } from './finding.ts';

const part = 'foundation';

/** Which mesh this state folder is of. `node`: the machine has joined one as this node. */
export type RaisedSeen =
  | { readonly kind: 'raised'; readonly id: string }
  | { readonly kind: 'not raised'; readonly node?: string }
  | { readonly kind: 'unreadable'; readonly why: string };

export function judgeRaised(where: string, seen: RaisedSeen): Finding {
  const of = 'mesh';
  switch (seen.kind) {
    case 'raised':
      return { part, of, is: 'ok', says: `${seen.id} was raised here`, where, next: [], facts: { id: seen.id } };
    case 'not raised': {
      if (seen.node === undefined)
        return {
          part,
          of,
          is: 'wrong',
          says: 'no mesh was raised here',
          where,
          next: ['mesh up', 'mesh --state DIR doctor   # or MESH_STATE, for a mesh that is kept elsewhere'],
        };
      const says = `none was raised here; this machine is the node ${seen.node} of one`;
      return { part, of, is: 'ok', says, where, next: [], facts: { node: seen.node } };
    }
    case 'unreadable':
      return { part, of, is: 'wrong', says: seen.why, where, next: [`put ${where} back from a copy of it`] };
  }
}

export type StoreSeen = {
  /** Migrations that the store has had; those of them that this version does not know; those that it has not had. */
  readonly ran: readonly string[];
  readonly newer: readonly string[];
  readonly missing: readonly string[];
  readonly isReadOnly: boolean;
};
type At = { readonly where: string; readonly log?: string };

/** The store, as the role that the controller's processes have, and which side is older where the versions are apart (C94). */
export function judgeStore(at: At & { readonly role: string }, looked: Looked<StoreSeen>): Finding {
  const of = 'store';
  if (looked.kind !== 'seen') return unseen(of, `cannot be used as ${at.role}`, at, looked);
  const { ran, newer, missing, isReadOnly } = looked.value;
  const { where } = at;
  const wrong = (says: string, next: string, older: 'command' | 'store', migrations: readonly string[]): Finding => ({
    part,
    of,
    is: 'wrong',
    says,
    where,
    next: [next],
    facts: { older, migrations },
  });
  if (newer.length > 0)
    return wrong(
      `this mesh command is older than the store, which has ${newer.join(', ')}`,
      'run the newer version of mesh',
      'command',
      newer,
    );
  if (missing.length > 0)
    return wrong(
      `the store is older than this mesh command: it has not had ${missing.join(', ')}`,
      'mesh up',
      'store',
      missing,
    );
  if (isReadOnly)
    return {
      part,
      of,
      is: 'wrong',
      says: 'takes no writes: what is so can be read, and nothing can be changed',
      where,
      next: ['make its server writable again: it is read-only, or a standby'],
      facts: { takes: 'reads' },
    };
  return {
    part,
    of,
    is: 'ok',
    says: `lets ${at.role} in; its schema is this version's, ${ran.at(-1) ?? 'empty'}`,
    where,
    next: [],
  };
}

/** The bus, with the controller's own credential: streams and buckets that the controller makes and that are not there. */
export function judgeBus(at: At, looked: Looked<{ readonly missing: readonly string[] }>): Finding {
  const of = 'bus';
  if (looked.kind !== 'seen') return unseen(of, "cannot be used with the controller's credential", at, looked);
  const { missing } = looked.value;
  const { where } = at;
  if (missing.length === 0)
    return { part, of, is: 'ok', says: 'lets the controller in; its streams and buckets are there', where, next: [] };
  const says = `these are not there, and a controller makes them as it starts: ${missing.join(', ')}`;
  return { part, of, is: 'wrong', says, where, next: ['mesh down && mesh up'], facts: { missing } };
}

/** The bus, as the node that a machine without a controller is: nothing else of the mesh can be asked from there. */
export function judgeNodeBus(node: string, where: string, looked: Looked<void>): Finding {
  const of = 'bus';
  if (looked.kind === 'seen') return { part, of, is: 'ok', says: `lets ${node} in`, where, next: [] };
  return {
    part,
    of,
    is: 'wrong',
    says: `cannot be used with the credential of ${node}: ${whyUnseen(looked)}; the host goes on with what it has`,
    where,
    next: [
      "mesh doctor   # on the controller's machine",
      `mesh node show ${node}   # there too: whether it is a node still`,
    ],
  };
}

export type TemporalSeen = {
  readonly hasNamespace: boolean;
  /** Search attributes that are not registered there. */
  readonly missing: readonly string[];
};

/** Temporal: its namespace, and what acts are looked up by (A12), without which none can be started. */
export function judgeTemporal(at: At & { readonly namespace: string }, looked: Looked<TemporalSeen>): Finding {
  const of = 'Temporal';
  const { where, namespace } = at;
  if (looked.kind !== 'seen') return unseen(of, 'does not answer', at, looked);
  const { hasNamespace, missing } = looked.value;
  if (!hasNamespace)
    return {
      part,
      of,
      is: 'wrong',
      says: `it has no namespace ${namespace}`,
      where,
      next: [`temporal operator namespace create --address ${where} --namespace ${namespace}`],
      facts: { namespace },
    };
  if (missing.length > 0)
    return {
      part,
      of,
      is: 'wrong',
      says: `search attributes are not registered in the namespace ${namespace}: ${missing.join(', ')}`,
      where,
      next: missing.map(
        (name) =>
          `temporal operator search-attribute create --address ${where} --namespace ${namespace} --name ${name} --type Keyword`,
      ),
      facts: { namespace, missing },
    };
  const says = `answers; the namespace ${namespace} is there with its search attributes`;
  return { part, of, is: 'ok', says, where, next: [], facts: { namespace } };
}

function unseen(
  of: string,
  does: string,
  { where, log }: At,
  looked: Exclude<Looked<unknown>, { kind: 'seen' }>,
): Finding {
  if (looked.kind === 'not asked') return { ...unknown(part, of, whyUnseen(looked)), where };
  const says = `${does}: ${whyUnseen(looked)}`;
  return { part, of, is: 'wrong', says, where, next: ['mesh up', ...(log === undefined ? [] : [`tail '${log}'`])] };
}
