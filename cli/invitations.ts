/** Inviting a machine: the act that will let it in, and the one line that it joins with. The line is a secret. */
import type { Foundation } from '../src/foundation/foundation.ts';
import { enrolId, enrolSummary } from '../src/domain/act/act.ts';
import { isRefusal, type Refusal } from '../src/domain/refusal/refusal.ts';
import type { NodeName } from '../src/domain/words/names.ts';
import { makeSeed, type Seed } from '../src/bus/seed.ts';
import { makeTokenId, printInvitation } from '../src/bus/token.ts';
import { busCredentialRecords } from '../src/operations/act/bus-credential-records.ts';
import { controllerKeysAt } from '../src/foundation/controller-keys.ts';
import { enrolmentRecords } from '../src/operations/node/enrol.ts';
import { inviteNode } from '../src/operations/node/invite-node.ts';
import type { Store } from '../src/store/store.ts';
import { startAct, type StartedAct } from './acts/start-act.ts';
import type { Context } from './context.ts';
import type { Controller } from './controller.ts';
import { problem, Stopped } from './problem.ts';

export type Invitation = { readonly line: string; readonly expiresAt: Date; readonly started: StartedAct };
type Asked = { readonly node: NodeName; readonly expiresInMs: number; readonly timeoutMs: number };

/**
 * Invites a node: starts `enrolNode`, and answers the line once the bus lets its bearer in. Refusals: `node-exists`,
 * `act-running`. Ends the command as `no-controller` when none opens the account in time: the invitation is taken back.
 */
export async function invite(controller: Controller, context: Context, asked: Asked): Promise<Invitation | Refusal> {
  const { store, foundation } = controller;
  // Whoever cannot reach Temporal must not leave an invitation that no act knows of.
  const temporal = await controller.temporal();
  const { person, stateFolder } = context.settings;
  const seed = makeSeed('user');
  const [tokenId, expiresAt] = [makeTokenId(), new Date(Date.now() + asked.expiresInMs)];
  const invited = await inviteNode(store, person, { tokenId, node: asked.node, userKey: seed.publicKey, expiresAt });
  if (isRefusal(invited)) return invited;
  const started = await startAct(temporal, {
    kind: 'enrol',
    workflow: 'enrolNode',
    workflowId: enrolId(asked.node),
    request: { node: asked.node, tokenId, expiresInMs: asked.expiresInMs, person },
    summary: enrolSummary(asked.node),
    node: asked.node,
    attaches: false,
  });
  if (isRefusal(started)) {
    await enrolmentRecords(store).closeToken(tokenId);
    return started;
  }
  const userJwt = await opened(store, tokenId, asked.timeoutMs);
  if (userJwt === undefined) {
    await temporal.workflow
      .getHandle(started.workflowId, started.act)
      .terminate('no controller opened its account in time');
    await enrolmentRecords(store).closeToken(tokenId);
    throw new Stopped(
      problem('no-controller', {
        what: `no controller opened an account for ${asked.node}`,
        why: 'a token is good only once the bus knows it; the invitation was taken back',
        next: ['mesh work controller', `mesh node invite ${asked.node}`],
        facts: { node: asked.node, taskQueue: 'controller' },
      }),
    );
  }
  const declarationKey = (await controllerKeysAt(stateFolder)).declarations.publicKey;
  const line = printed(asked.node, { tokenId, seed, userJwt, expiresAt, declarationKey }, foundation);
  return { line, expiresAt, started };
}

function printed(
  node: NodeName,
  of: { tokenId: string; seed: Seed; userJwt: string; expiresAt: Date; declarationKey: string },
  { nats }: Foundation,
): string {
  return printInvitation({ node, servers: [nats.url], ...of });
}

/** The token's bus credential, once the bus has it. */
async function opened(store: Store, tokenId: string, withinMs: number): Promise<string | undefined> {
  const until = Date.now() + withinMs;
  for (;;) {
    const row = await store.read((view) => view.invitationRow(tokenId));
    if (row?.openedAt !== undefined) return (await busCredentialRecords(store).liveOf('token', tokenId))?.userJwt;
    if (Date.now() > until) return undefined;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
