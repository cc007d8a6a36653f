/**
 * Gives and takes accounts at run time, over the system account (U15): no restart, nobody else's connection disturbed.
 *
 * An account is made in two steps, so that a retried act leaves one account and not two: `prepareAccount` makes its keys,
 * which the caller records (public halves and the user's JWT); `pushAccount` tells the server of a recorded one, as
 * often as it is called.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { AccountShape } from './accounts.ts';
import type { BusConnection } from './connection.ts';
import { meshAccountJwt, type BusIdentity, type MeshOpening } from './identity.ts';
import { makeSeed } from './seed.ts';
import { accountJwt, deletionJwt, userJwt } from './tokens.ts';

const requestMs = 5_000;
const appliedWithinMs = 10_000;

/** An account that exists on paper: what the caller records before it is pushed. All of it is public. */
export type PreparedAccount = {
  readonly kind: AccountShape['kind'];
  readonly name: string;
  readonly accountKey: string;
  readonly userKey: string;
  readonly userJwt: string;
};

/** The server did not do with an account what it was told. `account` is its public key. */
export class ClaimsFault extends Error {
  readonly account: string;
  constructor(account: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ClaimsFault';
    this.account = account;
  }
}

/**
 * Makes the key of a new account and the JWT of its one user, who proved or will prove to hold `userKey`. Nothing is
 * told to the server. The account's own seed is forgotten: the operator signs for it from now on.
 */
export async function prepareAccount(
  identity: BusIdentity,
  shape: AccountShape,
  user: { readonly userKey: string; readonly expiresAt?: Date },
): Promise<PreparedAccount> {
  const accountKey = makeSeed('account').publicKey;
  const until = user.expiresAt === undefined ? {} : { expiresAt: user.expiresAt };
  const jwt = await userJwt(
    shape,
    { user: user.userKey, account: accountKey, ...until },
    identity.seeds.accountSigning,
  );
  return { kind: shape.kind, name: shape.name, accountKey, userKey: user.userKey, userJwt: jwt };
}

/**
 * Tells the server of an account, or of its new shape, and answers when the server has it. The same shape again changes
 * nothing. Do not push what was revoked: it would live again; the caller's record says which those are.
 */
export async function pushAccount(
  system: BusConnection,
  identity: BusIdentity,
  account: { readonly accountKey: string; readonly shape: AccountShape },
): Promise<void> {
  await pushJwt(system, account.accountKey, await accountJwt(account.shape, account.accountKey, identity.seeds));
}

/** Tells the server what MESH opens from now on: buckets of nodes, seats it asks. Write the same to the server's configuration. */
export async function pushMeshAccount(
  system: BusConnection,
  identity: BusIdentity,
  opening: MeshOpening,
): Promise<void> {
  await pushJwt(system, identity.accounts.mesh, await meshAccountJwt(identity, opening));
}

/** Takes an account away for good and cuts its connections; safe to repeat. Answers when the server no longer has it. */
export async function revokeAccount(system: BusConnection, identity: BusIdentity, accountKey: string): Promise<void> {
  if ((await lookUpAccount(system, accountKey)) === undefined) return;
  const order = await deletionJwt([accountKey], identity.seeds.operator);
  await ask(system, '$SYS.REQ.CLAIMS.DELETE', order, accountKey);
  await untilApplied(system, accountKey, (found) => found === undefined);
}

/** The account's JWT as the server has it, or undefined when it has none. */
export async function lookUpAccount(system: BusConnection, accountKey: string): Promise<string | undefined> {
  const answer = await request(system, `$SYS.REQ.ACCOUNT.${accountKey}.CLAIMS.LOOKUP`, '', accountKey);
  return answer === '' ? undefined : answer;
}

async function pushJwt(system: BusConnection, accountKey: string, jwt: string): Promise<void> {
  await ask(system, '$SYS.REQ.CLAIMS.UPDATE', jwt, accountKey);
  // "200 jwt updated" does not mean applied: what the server answers with is what it has.
  await untilApplied(system, accountKey, (found) => found === jwt);
}

async function untilApplied(
  system: BusConnection,
  accountKey: string,
  holds: (found: string | undefined) => boolean,
): Promise<void> {
  const deadline = performance.now() + appliedWithinMs;
  while (!holds(await lookUpAccount(system, accountKey))) {
    if (performance.now() > deadline)
      throw new ClaimsFault(
        accountKey,
        `the server did not take over the account ${accountKey} within ${appliedWithinMs} ms`,
      );
    await wait(20);
  }
}

const claimsAnswer = z.object({
  data: z.object({ code: z.int(), message: z.string().optional() }).optional(),
  error: z.object({ code: z.int(), description: z.string().optional() }).optional(),
});

async function ask(system: BusConnection, subject: string, jwt: string, accountKey: string): Promise<void> {
  const text = await request(system, subject, jwt, accountKey);
  const read = claimsAnswer.safeParse(JSON.parse(text));
  if (read.data?.data?.code === 200) return;
  const said = read.data?.error?.description ?? read.data?.data?.message ?? 'an answer that cannot be read';
  throw new ClaimsFault(accountKey, `the server refused the account ${accountKey}: ${said}`);
}

async function request(system: BusConnection, subject: string, body: string, accountKey: string): Promise<string> {
  try {
    return (await system.nats.request(subject, body, { timeout: requestMs })).string();
  } catch (cause) {
    throw new ClaimsFault(accountKey, `the server did not answer ${subject}`, { cause });
  }
}
