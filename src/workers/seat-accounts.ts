/**
 * The accounts of seats that are served by processes of their own. The controller makes them, and leaves each process its
 * key and its JWT in a folder of its own: such a process needs no other secret of the controller's.
 */
import path from 'node:path';
import { clientAccount, provisionerAccount, provisionerSeat, type SeatAddress } from '../bus/accounts.ts';
import { prepareAccount, pushAccount, pushMeshAccount, revokeAccount } from '../bus/claims.ts';
import type { BusConnection } from '../bus/connection.ts';
import type { BusIdentity } from '../bus/identity.ts';
import { nodeName, partName } from '../domain/words/names.ts';
import { keepSeatCredential, seatSeedAt } from '../foundation/seat-keys.ts';
import { busCredentialRecords } from '../operations/act/bus-credential-records.ts';
import type { Store } from '../store/store.ts';

/** The seats that have an account: whoever may ask them imports their verbs from it. */
export async function seatAddresses(store: Store): Promise<readonly SeatAddress[]> {
  return (await busCredentialRecords(store).live())
    .filter(({ kind }) => kind === 'seat')
    .map(({ name, accountKey }) => ({ seat: partName.parse(name), account: accountKey }));
}

/**
 * Makes the provisioner's account unless it is there, tells the bus of it and of what MESH asks of it, and leaves its process
 * what it needs in its folder. Safe to repeat, by several controllers at once: the first key that is recorded is the key.
 */
export async function ensureProvisionerAccount(of: {
  readonly stateDir: string;
  readonly store: Store;
  readonly system: BusConnection;
  readonly identity: BusIdentity;
  readonly servers: readonly string[];
}): Promise<void> {
  const { store, system, identity } = of;
  const records = busCredentialRecords(store);
  const folder = path.join(of.stateDir, provisionerSeat);
  const seed = await seatSeedAt(folder);
  const shape = provisionerAccount({ meshAccount: identity.accounts.mesh });
  const before = await records.liveOf('seat', provisionerSeat);
  // A key that was lost with its folder opens nothing any more: its account goes, and a new one is made.
  if (before !== undefined && before.userKey !== seed.publicKey) {
    await revokeAccount(system, identity, before.accountKey);
    await records.revoke(before.accountKey);
  }
  const live = await records.prepare(await prepareAccount(identity, shape, { userKey: seed.publicKey }));
  await pushAccount(system, identity, { accountKey: live.accountKey, shape });
  await records.record(live.accountKey);
  await openMesh(of);
  // Clients import its verbs by its account's key: where that is another, they are told of it.
  if (before?.accountKey !== live.accountKey) await pushClients(of);
  await keepSeatCredential(folder, { seat: provisionerSeat, servers: of.servers, userJwt: live.userJwt });
}

async function pushClients({ store, system, identity }: Parameters<typeof openMesh>[0]): Promise<void> {
  const seats = await seatAddresses(store);
  for (const { kind, name, accountKey } of await busCredentialRecords(store).live()) {
    if (kind !== 'client') continue;
    const shape = clientAccount(nodeName.parse(name), { meshAccount: identity.accounts.mesh, seats });
    await pushAccount(system, identity, { accountKey, shape });
  }
}

/** Tells the bus what MESH asks of seats. A server that was started again knows MESH as its configuration has it, without them. */
export async function openMesh(of: {
  readonly store: Store;
  readonly system: BusConnection;
  readonly identity: BusIdentity;
}): Promise<void> {
  await pushMeshAccount(of.system, of.identity, { seats: await seatAddresses(of.store) });
}
