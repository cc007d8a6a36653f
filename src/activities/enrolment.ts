/** A8's steps: a token's account is opened, the node's made once it has proven its keys, the token's closed again (U16). */
import type { EnrolRequest } from '../domain/act/act.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { busCredentialRecords } from '../operations/act/bus-credential-records.ts';
import type { BusCredentialRow, NewBusCredential } from '../operations/ports/bus-credential-rows.ts';
import { untilReported } from './patience.ts';
import type { ActRecords, DeclarationRecords, Wakes } from './ports.ts';

type Kind = 'token' | 'node' | 'client';

/** What the joining node and its invitation left in the store. */
export type EnrolmentRecords = {
  /** The bus user whose seed is in the token. */
  tokenUser(tokenId: string): Promise<string>;
  /** The identity key that the node has proven it holds. */
  provenIdentity(tokenId: string): Promise<string>;
  /** The key of the node's provisioner client; undefined where it sent none. */
  provenClient(tokenId: string): Promise<string | undefined>;
  /** The token's bus credential works: it may be handed out. */
  openToken(tokenId: string): Promise<void>;
  admit(node: NodeName, tokenId: string): Promise<void>;
  closeToken(tokenId: string): Promise<void>;
};

export type AccountBus = {
  /** Makes keys and JWTs; nothing is on the bus yet. */
  prepare(kind: Kind, name: string, userKey: string): Promise<NewBusCredential>;
  /** Puts it on the bus; the same again changes nothing. */
  push(credential: NewBusCredential): Promise<void>;
  /** Takes it off, cutting whoever is connected; no error when it is gone. */
  revoke(accountKey: string): Promise<void>;
};

export type EnrolmentPorts = {
  readonly acts: Pick<ActRecords, 'begin' | 'read' | 'note' | 'end'>;
  readonly busCredentials: Pick<ReturnType<typeof busCredentialRecords>, 'prepare' | 'record' | 'revoke' | 'liveOf'>;
  readonly declarations: Pick<DeclarationRecords, 'reportsOf'>;
  readonly enrolments: EnrolmentRecords;
  readonly bus: AccountBus;
  readonly wakes: Wakes;
};

/** The steps of `enrolNode`, over the worker's ports. */
export function createEnrolmentActivities({
  acts,
  busCredentials,
  declarations,
  enrolments,
  bus,
  wakes,
}: EnrolmentPorts) {
  /** One live account a name, recorded before the bus is told, so that none is there that nobody knows. */
  const letIn = async (kind: Kind, name: string, userKey: string): Promise<void> => {
    const known: BusCredentialRow | undefined = await busCredentials.liveOf(kind, name);
    const credential = known ?? (await busCredentials.prepare(await bus.prepare(kind, name, userKey)));
    await bus.push(credential);
    await busCredentials.record(credential.accountKey);
  };

  return {
    /** (1) Lets the token's bearer in, to enrol and nothing else. */
    async openToken(act: string, workflowId: string, summary: string, request: EnrolRequest): Promise<void> {
      await acts.begin({ act, workflowId, kind: 'enrol', summary, person: request.person });
      await letIn('token', request.tokenId, await enrolments.tokenUser(request.tokenId));
      await enrolments.openToken(request.tokenId);
    },

    /** (2) The node has shown that it holds its keys: it gets an account of its own, and its client another. */
    async admitNode(_act: string, node: NodeName, tokenId: string): Promise<void> {
      const client = await enrolments.provenClient(tokenId);
      if (client !== undefined) await letIn('client', node, client);
      await letIn('node', node, await enrolments.provenIdentity(tokenId));
      await enrolments.admit(node, tokenId);
    },

    /** (3) Waits until the node spoke with its own credential: then it needs the token no more. */
    async awaitFirstReport(act: string, node: NodeName): Promise<void> {
      await untilReported(
        wakes,
        async () =>
          (await declarations.reportsOf([node])).has(node)
            ? { done: true }
            : { waitsFor: [`${node} to report for the first time`] },
        (waitsFor) => acts.note(act, { waitsFor }),
      );
    },

    /** (4) The token is used up, or has expired: whoever still holds it is cut off. */
    async closeToken(act: string, tokenId: string, joined: boolean): Promise<void> {
      const credential = await busCredentials.liveOf('token', tokenId);
      if (credential !== undefined) {
        await bus.revoke(credential.accountKey);
        await busCredentials.revoke(credential.accountKey);
      }
      await enrolments.closeToken(tokenId);
      if ((await acts.read(act)) !== undefined)
        await acts.end(act, joined ? 'closed' : 'failed', { joined, waitsFor: [] });
    },
  };
}
export type EnrolmentActivities = ReturnType<typeof createEnrolmentActivities>;
