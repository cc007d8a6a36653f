/** The mesh's own Postgres, schema `mesh`. The only place of the controller that speaks SQL. */
import pg from 'pg';
import type { InventoryReads } from '../operations/ports/declaration-rows.ts';
import type { Isolation, Reads, ReadsNumbered, Writes } from '../operations/ports/work.ts';
import { connectionOf, type StoreAddress } from './address.ts';
import { inventoryReader, type InventoryReader } from './inventory.ts';
import type { Query } from './query.ts';
import { actReads, actRows, lockRows } from './rows/act-rows.ts';
import { busCredentialRows } from './rows/bus-credential-rows.ts';
import { reportReads, reportRows, sentReads, sentRows } from './rows/declaration-rows.ts';
import { eventReads, eventRows, markReads, unreadableReads, unreadableRows } from './rows/event-rows.ts';
import { intentReads, intentRows } from './rows/intent-rows.ts';
import { moduleReads, moduleRows } from './rows/module-rows.ts';
import { invitationReads, invitationRows, nodeReads, nodeRows } from './rows/node-rows.ts';
import { buildReads, buildRows, leaseReads, leaseRows, relayReads, relayRows } from './rows/provisioner-rows.ts';
import { refusedValueRows } from './rows/refused-value-rows.ts';
import { routeReads, routeRows } from './rows/route-rows.ts';
import { secretReads, secretRows } from './rows/secret-rows.ts';
import { numberedSnapshot, snapshot, transaction, untilUndisturbed } from './transaction.ts';

/** All that can be read in one snapshot. */
export type View = ReturnType<typeof viewOf>;
/** All that one transaction can do. */
export type Tx = ReturnType<typeof txOf>;

export type Store = Writes<Tx> &
  Reads<View> &
  ReadsNumbered<View> & {
    /** Ends every connection: after those at work have come back, or, with `within`, with whatever they are still waiting for. */
    close(): Promise<void>;
  };

type Within = { readonly connectMs: number; readonly answerMs: number };

/**
 * Opens the store; connects on the first use. `connections`: how many at most, and so how many transactions at once.
 * `within`: how long a connection, and each answer, may take before the transaction fails and its connection is given up; for as
 * long as it takes when left out.
 */
export function openStore(address: StoreAddress & { readonly connections?: number; readonly within?: Within }): Store {
  const { within } = address;
  // Queries that are asked together are sent together: most of a small transaction's time is the way there and back.
  const pool = new pg.Pool({
    ...connectionOf(address),
    ...answering(within),
    pipeline: true,
    max: address.connections ?? 10,
  });
  // A connection that breaks while nobody uses it is gone from the pool; the next use makes another.
  pool.on('error', () => {});
  const atWork = new Set<pg.PoolClient>();
  let isGivenUp = false;
  const giveUp = ({ connection }: pg.PoolClient): void => void connection.stream.destroy();
  pool.on('acquire', (client) => {
    atWork.add(client);
    if (isGivenUp) giveUp(client);
  });
  pool.on('release', (_, client) => atWork.delete(client));
  const inventories = inventoryReader();

  return {
    write: (person, change, isolation = 'read committed') =>
      untilUndisturbed(() => transaction(pool, begin[isolation], (query) => change(txOf(query, person, inventories)))),
    read: (look) => snapshot(pool, (query) => look(viewOf(query, inventories))),
    readNumbered: (look) => numberedSnapshot(pool, (query) => look(viewOf(query, inventories))),
    async close() {
      const ended = pool.end();
      isGivenUp = within !== undefined;
      if (isGivenUp) atWork.forEach(giveUp);
      await ended;
    },
  };
}

const begin: Readonly<Record<Isolation, string>> = {
  'read committed': 'begin isolation level read committed',
  serializable: 'begin isolation level serializable',
};

/** A server that takes a connection and says nothing keeps nobody waiting, and no process from its end. */
const answering = (within: Within | undefined): pg.PoolConfig =>
  within === undefined
    ? {}
    : { connectionTimeoutMillis: within.connectMs, query_timeout: within.answerMs, allowExitOnIdle: true };

function viewOf(query: Query, inventories: InventoryReader) {
  return {
    ...inventoryReads(query, inventories),
    ...actReads(query),
    ...buildReads(query),
    ...eventReads(query),
    ...intentReads(query),
    ...invitationReads(query),
    ...leaseReads(query),
    ...markReads(query),
    ...moduleReads(query),
    ...nodeReads(query),
    ...relayReads(query),
    ...reportReads(query),
    ...routeReads(query),
    ...secretReads(query),
    ...sentReads(query),
    ...unreadableReads(query),
  };
}

function txOf(query: Query, person: string, inventories: InventoryReader) {
  return {
    ...viewOf(query, inventories),
    ...actRows(query),
    ...buildRows(query),
    ...busCredentialRows(query),
    ...eventRows(query, person),
    ...intentRows(query),
    ...invitationRows(query),
    ...leaseRows(query),
    ...lockRows(query),
    ...moduleRows(query),
    ...nodeRows(query),
    ...refusedValueRows(query),
    ...relayRows(query),
    ...reportRows(query),
    ...routeRows(query),
    ...secretRows(query),
    ...sentRows(query),
    ...unreadableRows(query),
  };
}

function inventoryReads(query: Query, inventories: InventoryReader): InventoryReads {
  return { inventory: () => inventories.read(query) };
}
