/** Writes accounts and users as the JWTs that the server takes. */
import { encodeAccount, encodeGeneric, encodeOperator, encodeUser, type Account, type User } from '@nats-io/jwt';
import type { KeyPair } from '@nats-io/nkeys';
import type { AccountShape, Crossing, Import } from './accounts.ts';
import type { Seed } from './seed.ts';

const unlimited = -1;
/** Enough for a host that died and left connections behind that the server has not yet noticed. */
const connectionsEach = 16;
const natsLimits = { subs: unlimited, data: unlimited, payload: unlimited };
const accountLimits = { imports: unlimited, exports: unlimited, wildcards: true, leaf: 0, disallow_bearer: true };
/** Left out, JetStream is off in the account: right for everyone but MESH. */
const jetStreamLimits = {
  mem_storage: unlimited,
  disk_storage: unlimited,
  streams: unlimited,
  consumer: unlimited,
  mem_max_stream_bytes: unlimited,
  disk_max_stream_bytes: unlimited,
  max_bytes_required: false,
  max_ack_pending: unlimited,
};

const named = (crossing: Crossing) => ({ name: crossing.subject, subject: crossing.subject, type: crossing.kind });
const exported = (crossing: Crossing) => ({
  ...named(crossing),
  ...(crossing.many === true ? { response_type: 'Stream' as const } : {}),
});
const imported = (crossing: Import) => ({
  ...named(crossing),
  account: crossing.account,
  local_subject: crossing.as ?? crossing.subject,
});

/** A seed as the JWT library wants it, signing by Node's own cryptography. The library asks for a private half only to see that there is one. */
function signerOf(seed: Seed): KeyPair {
  const never = (): never => {
    throw new Error('a signer of JWTs only signs');
  };
  return {
    getPublicKey: () => seed.publicKey,
    getPrivateKey: () => new Uint8Array(),
    sign: (bytes) => seed.signBytes(bytes),
    getSeed: never,
    verify: never,
    seal: never,
    open: never,
    clear: never,
  };
}

/** Signs an operator JWT by its own seed. */
export function operatorJwt(operator: Seed, systemAccount: string): Promise<string> {
  return encodeOperator('mesh', signerOf(operator), { system_account: systemAccount });
}

/** Signs the JWT of one of the mesh's own two accounts. */
export function ownAccountJwt(
  name: 'SYS' | 'MESH',
  account: string,
  by: {
    readonly operator: Seed;
    readonly accountSigning: Seed;
    readonly exports?: readonly Crossing[];
    readonly imports?: readonly Import[];
  },
): Promise<string> {
  const jetStream = name === 'MESH' ? jetStreamLimits : {};
  const claims: Partial<Account> = {
    exports: (by.exports ?? []).map(exported),
    imports: (by.imports ?? []).map(imported),
    limits: { ...natsLimits, ...accountLimits, conn: unlimited, ...jetStream },
    signing_keys: [by.accountSigning.publicKey],
  };
  return encodeAccount(name, account, claims, { signer: signerOf(by.operator) });
}

/** Signs the JWT of a described account. Its content, but for the time of signing, depends on the description alone. */
export function accountJwt(
  shape: AccountShape,
  account: string,
  by: { readonly operator: Seed; readonly accountSigning: Seed },
): Promise<string> {
  const claims: Partial<Account> = {
    imports: shape.imports.map(imported),
    exports: shape.exports.map(exported),
    limits: { ...natsLimits, ...accountLimits, conn: connectionsEach },
    signing_keys: [by.accountSigning.publicKey],
  };
  return encodeAccount(`${shape.kind}/${shape.name}`, account, claims, { signer: signerOf(by.operator) });
}

/** Signs a user's JWT: what it may publish and subscribe to, its inbox, and until when (seconds since 1970). */
export function userJwt(
  shape: Pick<AccountShape, 'kind' | 'name' | 'publish' | 'subscribe' | 'answers' | 'inbox'>,
  of: { readonly user: string; readonly account: string; readonly expiresAt?: Date },
  accountSigning: Seed,
): Promise<string> {
  const claims: Partial<User> = {
    // An empty allow-list allows everything: who may publish nothing is denied everything.
    pub: shape.publish.length === 0 ? { deny: ['>'] } : { allow: [...shape.publish] },
    sub: { allow: [...shape.subscribe, `${shape.inbox}.>`] },
    ...(shape.answers ? { resp: { max: 1, ttl: 60_000_000_000 } } : {}),
    allowed_connection_types: ['STANDARD'],
  };
  const until = of.expiresAt === undefined ? {} : { exp: Math.floor(of.expiresAt.getTime() / 1000) };
  return encodeUser(`${shape.kind}/${shape.name}`, of.user, of.account, claims, {
    signer: signerOf(accountSigning),
    ...until,
  });
}

/** Signs a user of MESH or SYS. */
export function ownUserJwt(
  name: string,
  of: {
    readonly user: string;
    readonly account: string;
    readonly publish?: readonly string[];
    readonly subscribe?: readonly string[];
  },
  accountSigning: Seed,
): Promise<string> {
  const claims: Partial<User> = {
    ...(of.publish === undefined ? {} : { pub: { allow: [...of.publish] } }),
    ...(of.subscribe === undefined ? {} : { sub: { allow: [...of.subscribe] } }),
    allowed_connection_types: ['STANDARD'],
  };
  return encodeUser(name, of.user, of.account, claims, { signer: signerOf(accountSigning) });
}

/** Signs the order to delete accounts. The server takes it only signed by the operator itself. */
export function deletionJwt(accounts: readonly string[], operator: Seed): Promise<string> {
  return encodeGeneric('delete', signerOf(operator), 'generic', { accounts: [...accounts] });
}
