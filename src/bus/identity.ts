/**
 * The bus's own keys (U15, S21): the operator, who signs accounts; one account-signing key, listed in every account,
 * which signs users; and the users of SYS and MESH. The accounts' identity seeds are thrown away as they are made.
 * JWTs are signed anew from these whenever they are needed, so the seeds and two public keys are all there is to keep.
 */
import { encodeToken } from '../domain/provisioning/keys.ts';
import { meshExports, type SeatAddress } from './accounts.ts';
import type { BusCredential } from './connection.ts';
import { makeSeed, Seed } from './seed.ts';
import { anyNode, anyVerb, askedSubject, inboxPrefix, lastDeclarationSubject } from './subjects.ts';
import { operatorJwt, ownAccountJwt, ownUserJwt } from './tokens.ts';

/** The private halves, each for a 0600 file of its own. */
export type BusSeeds = {
  readonly operator: Seed;
  readonly accountSigning: Seed;
  readonly systemUser: Seed;
  readonly meshUser: Seed;
};
/** Public keys of the accounts SYS and MESH; every other account names MESH in its imports. */
export type BusAccounts = { readonly system: string; readonly mesh: string };
export type BusIdentity = { readonly seeds: BusSeeds; readonly accounts: BusAccounts };

/** Makes the keys of a new bus. Nothing is written: the caller keeps the seeds. */
export function newBusIdentity(): BusIdentity {
  return {
    seeds: {
      operator: makeSeed('operator'),
      accountSigning: makeSeed('account'),
      systemUser: makeSeed('user'),
      meshUser: makeSeed('user'),
    },
    accounts: { system: makeSeed('account').publicKey, mesh: makeSeed('account').publicKey },
  };
}

/** Puts an identity together from what was kept: the seeds' texts. Throws, naming the seed and never quoting it. */
export function loadBusIdentity(
  texts: { readonly [Name in keyof BusSeeds]: Uint8Array | string },
  accounts: BusAccounts,
): BusIdentity {
  return {
    seeds: {
      operator: new Seed('operator', texts.operator),
      accountSigning: new Seed('account', texts.accountSigning),
      systemUser: new Seed('user', texts.systemUser),
      meshUser: new Seed('user', texts.meshUser),
    },
    accounts,
  };
}

/** What MESH asks of others: seats in processes of their own. */
export type MeshOpening = { readonly seats?: readonly SeatAddress[] };

/** Signs the JWT of MESH. */
export function meshAccountJwt({ seeds, accounts }: BusIdentity, opening: MeshOpening = {}): Promise<string> {
  return ownAccountJwt('MESH', accounts.mesh, {
    ...seeds,
    exports: meshExports(),
    // Under their long names: a person is told apart by the name that the command asks in.
    imports: (opening.seats ?? []).map(({ seat, account }) => ({
      kind: 'service',
      subject: askedSubject(seat, anyVerb, 'anybody'),
      account,
    })),
  });
}

/** What the server's configuration needs, all of it public: `operator`, `system_account`, `resolver_preload`. */
export async function serverClaims(
  identity: BusIdentity,
  opening: MeshOpening = {},
): Promise<{
  readonly operatorJwt: string;
  readonly systemAccount: string;
  readonly preload: Readonly<Record<string, string>>;
}> {
  const { seeds, accounts } = identity;
  return {
    operatorJwt: await operatorJwt(seeds.operator, accounts.system),
    systemAccount: accounts.system,
    preload: {
      [accounts.system]: await ownAccountJwt('SYS', accounts.system, seeds),
      [accounts.mesh]: await meshAccountJwt(identity, opening),
    },
  };
}

/** The controller's credential: a user of MESH with the run of that account. */
export async function meshCredential({ seeds, accounts }: BusIdentity): Promise<BusCredential> {
  const of = { user: seeds.meshUser.publicKey, account: accounts.mesh };
  return {
    jwt: await ownUserJwt('controller', of, seeds.accountSigning),
    seed: seeds.meshUser,
    inbox: inboxPrefix('mesh'),
  };
}

/**
 * A credential that may read what was last sent to each node, and nothing else: for a command on the controller's machine. Its
 * key is made here and dies with whoever holds it.
 */
export async function declarationReader({ seeds, accounts }: BusIdentity): Promise<BusCredential> {
  const seed = makeSeed('user');
  const inbox = inboxPrefix('reader');
  const of = {
    user: seed.publicKey,
    account: accounts.mesh,
    publish: [lastDeclarationSubject(anyNode)],
    subscribe: [`${inbox}.>`],
  };
  return { jwt: await ownUserJwt('declaration-reader', of, seeds.accountSigning), seed, inbox };
}

/**
 * A credential that may ask seats in a person's name, and nothing else: for a command on the controller's machine. Its key is
 * made here and dies with whoever holds it.
 */
export async function asking({ seeds, accounts }: BusIdentity, person: string): Promise<BusCredential> {
  const seed = makeSeed('user');
  const inbox = inboxPrefix(`asking_${seed.publicKey}`);
  const of = {
    user: seed.publicKey,
    account: accounts.mesh,
    publish: [`*.*.person.${encodeToken(person)}`],
    subscribe: [`${inbox}.>`],
  };
  return { jwt: await ownUserJwt('asking', of, seeds.accountSigning), seed, inbox };
}

/** The credential that gives and takes accounts: a user of SYS that may do just that. */
export async function systemCredential({ seeds, accounts }: BusIdentity): Promise<BusCredential> {
  const inbox = inboxPrefix('system');
  const of = {
    user: seeds.systemUser.publicKey,
    account: accounts.system,
    publish: ['$SYS.REQ.CLAIMS.UPDATE', '$SYS.REQ.CLAIMS.DELETE', '$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP'],
    subscribe: [`${inbox}.>`],
  };
  return { jwt: await ownUserJwt('claims', of, seeds.accountSigning), seed: seeds.systemUser, inbox };
}
