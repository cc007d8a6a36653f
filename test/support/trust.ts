/** An operator and its accounts for tests of the foundation, which only carries what the bus makes. */
import { encodeAccount, encodeOperator, encodeUser, fmtCreds } from '@nats-io/jwt';
import { createAccount, createOperator, createUser } from '@nats-io/nkeys';

import type { BusTrust } from '../../src/foundation/nats.ts';

export type TestTrust = BusTrust & {
  /** Credentials, as a .creds file holds them, of a user who may do everything in an account with JetStream. */
  readonly creds: Uint8Array;
};

export async function newTestTrust(): Promise<TestTrust> {
  const [operator, systemAccount, account, user] = [createOperator(), createAccount(), createAccount(), createUser()];
  const limits = { conn: -1, subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, leaf: -1 };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const systemKey = systemAccount.getPublicKey();
  const operatorJwt = await encodeOperator('test', operator, { system_account: systemKey });
  const userJwt = await encodeUser('test', user, account, {});
  return {
    operatorJwt,
    systemAccount: systemKey,
    preload: {
      [systemKey]: await encodeAccount('SYS', systemAccount, { limits }, { signer: operator }),
      [account.getPublicKey()]: await encodeAccount(
        'TEST',
        account,
        { limits: { ...limits, ...storage } },
        { signer: operator },
      ),
    },
    creds: fmtCreds(userJwt, user),
  };
}
