import { z } from 'zod';
import { moduleName, partName } from '../../domain/words/names.ts';
import { present } from '../../domain/words/invariant.ts';
import type {
  BuildReads,
  BuildRows,
  LeaseReads,
  LeaseRows,
  RelayReads,
  RelayRows,
} from '../../operations/ports/provisioner-rows.ts';
import type { Query } from '../query.ts';
import { publishIfBuilt } from './module-rows.ts';

const leaseRow = z.object({
  seat: partName,
  module: moduleName,
  node: z.string(),
  process: z.string(),
  heldSince: z.date(),
  leftMs: z.number(),
});
const leaseColumns = `seat, module, node, process, held_since as "heldSince", 
  (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as "leftMs"`;

export function leaseReads(query: Query): LeaseReads {
  return {
    leaseRow: (seat) => query.first(leaseRow, `select ${leaseColumns} from mesh.seat_leases where seat = $1`, [seat]),
  };
}

export function leaseRows(query: Query): LeaseRows {
  return {
    ...leaseReads(query),
    holdLease: async (seat) => {
      await query.run(`select pg_advisory_xact_lock(hashtextextended('mesh.seat_leases/' || $1, 0))`, [seat]);
      return query.first(leaseRow, `select ${leaseColumns} from mesh.seat_leases where seat = $1`, [seat]);
    },
    putLease: async (seat, { module, node, process }, leaseMs) =>
      present(
        await query.first(
          leaseRow,
          `insert into mesh.seat_leases as held (seat, module, node, process, held_since, expires_at)
           values ($1, $2, $3, $4, clock_timestamp(), clock_timestamp() + $5 * interval '1 millisecond')
           on conflict (seat) do update
              set module = excluded.module, node = excluded.node, process = excluded.process, expires_at = excluded.expires_at,
                  held_since = case when (held.module, held.node, held.process) = (excluded.module, excluded.node, excluded.process)
                               then held.held_since else excluded.held_since end
           returning ${leaseColumns}`,
          [seat, module, node, process, leaseMs],
        ),
        'a lease that was just written',
      ),
    deleteLease: async (seat) => {
      await query.run(`delete from mesh.seat_leases where seat = $1`, [seat]);
    },
  };
}

const buildRow = z.object({
  module: moduleName,
  version: z.string(),
  artifact: partName,
  digest: z.string(),
  recordedAt: z.date(),
});

export function buildReads(query: Query): BuildReads {
  return {
    buildRows: () =>
      query.rows(
        buildRow,
        `select module, version, artifact, digest, recorded_at as "recordedAt"
           from mesh.builds order by module, version, artifact`,
      ),
  };
}

export function buildRows(query: Query): BuildRows {
  return {
    ...buildReads(query),
    insertBuild: async ({ module, version, artifact, digest }) => {
      const inserted = await query.run(
        `insert into mesh.builds (module, version, artifact, digest) values ($1, $2, $3, $4)
         on conflict (module, version, artifact) do nothing`,
        [module, version, artifact, digest],
      );
      await publishIfBuilt(query, { module, version });
      return inserted === 1;
    },
  };
}

export function relayReads(query: Query): RelayReads {
  return {
    unrelayedEvents: () =>
      query.rows(
        z.object({ id: z.number(), kind: z.string() }),
        `select id, kind from mesh.events where relayed_at is null order by id limit 10000`,
      ),
  };
}

export function relayRows(query: Query): RelayRows {
  return {
    setRelayed: async (ids) => {
      await query.run(
        `update mesh.events set relayed_at = now() where id = any ($1::bigint[]) and relayed_at is null`,
        [ids],
      );
    },
  };
}
