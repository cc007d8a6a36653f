/** Who has an account on the bus (U15). Each function is one transaction. */
import type {
  BusCredentialKind,
  BusCredentialRow,
  BusCredentialRows,
  NewBusCredential,
} from '../ports/bus-credential-rows.ts';
import { controller, type EventRows, type Writes } from '../ports/work.ts';

/** The records of bus credentials, over a store. */
export function busCredentialRecords(store: Writes<BusCredentialRows & EventRows>) {
  return {
    /**
     * Records who is about to get an account, before the bus is told: so a step that runs again tells the bus of the same
     * account, and none is left there that nobody knows. Answers the live one of that kind and name: an earlier one if there was.
     */
    prepare: (credential: NewBusCredential): Promise<BusCredentialRow> =>
      store.write(controller, async (tx) => {
        if (await tx.insertBusCredential(credential)) {
          await tx.event({
            kind: 'bus-credential-given',
            about: named(credential),
            detail: { account: credential.accountKey },
          });
        }
        const live = await tx.liveBusCredential(credential.kind, credential.name);
        if (live === undefined)
          throw new Error(`${named(credential)} has no live bus credential although it was just prepared`);
        return live;
      }),

    /** Records that the bus was seen to have the account. False: it was taken away meanwhile. */
    record: (accountKey: string): Promise<boolean> =>
      store.write(controller, (tx) => tx.setBusCredentialPushed(accountKey)),

    /** Takes a credential away; the bus is told after. Idempotent: false when it was not live. */
    revoke: (accountKey: string): Promise<boolean> =>
      store.write(controller, async (tx) => {
        const revoked = await tx.setBusCredentialRevoked(accountKey);
        if (revoked === undefined) return false;
        await tx.event({ kind: 'bus-credential-taken', about: named(revoked), detail: { account: accountKey } });
        return true;
      }),

    liveOf: (kind: BusCredentialKind, name: string): Promise<BusCredentialRow | undefined> =>
      store.write(controller, (tx) => tx.liveBusCredential(kind, name)),

    /** Every live one: what a bus that lost its accounts is told again. */
    live: (): Promise<readonly BusCredentialRow[]> => store.write(controller, (tx) => tx.liveBusCredentials()),
  };
}

const named = ({ kind, name }: { readonly kind: BusCredentialKind; readonly name: string }): string =>
  `${kind}/${name}`;
