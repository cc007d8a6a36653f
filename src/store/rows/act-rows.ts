import { z } from 'zod';
import type { ActRows, LockRows } from '../../operations/ports/act-rows.ts';
import type { Query } from '../query.ts';

const actRow = z.object({
  act: z.string(),
  workflowId: z.string(),
  kind: z.string(),
  summary: z.string(),
  person: z.string(),
  stage: z.enum(['preparing', 'committed', 'closed', 'abandoned', 'failed']),
  detail: z.record(z.string(), z.unknown()),
  startedAt: z.date(),
  committedAt: z.date().exactOptional(),
  endedAt: z.date().exactOptional(),
});
const columns = `act, workflow_id as "workflowId", kind, summary, person, stage, detail,
  started_at as "startedAt", committed_at as "committedAt", ended_at as "endedAt"`;

export function actReads(query: Query): Pick<ActRows, 'actRow' | 'actByName' | 'actRows'> {
  return {
    actRow: (act) => query.first(actRow, `select ${columns} from mesh.acts where act = $1`, [act]),
    actByName: (name) =>
      query.first(
        actRow,
        `select ${columns} from mesh.acts where act = $1 or workflow_id = $1 order by started_at desc limit 1`,
        [name],
      ),
    actRows: ({ limit, openOnly }) =>
      query.rows(
        actRow,
        `select ${columns} from mesh.acts
          where not $2 or ended_at is null
          order by started_at desc, act
          limit $1`,
        [limit, openOnly ?? false],
      ),
  };
}

export function actRows(query: Query): ActRows {
  return {
    ...actReads(query),
    insertAct: async ({ act, workflowId, kind, summary, person, detail = {} }, stage = 'preparing') =>
      (await query.run(
        `insert into mesh.acts (act, workflow_id, kind, summary, person, stage, detail, ended_at)
         values ($1, $2, $3, $4, $5, $6, $7, case when $6 = 'closed' then now() end)
         on conflict (act) do nothing`,
        [act, workflowId, kind, summary, person, stage, JSON.stringify(detail)],
      )) === 1,
    holdAct: (act) => query.first(actRow, `select ${columns} from mesh.acts where act = $1 for update`, [act]),
    setActStage: async (act, stage, detail) => {
      await query.run(
        `update mesh.acts
            set stage = $2,
                detail = detail || $3::jsonb,
                committed_at = case when $2 = 'committed' then coalesce(committed_at, now()) else committed_at end,
                ended_at = case when $2 in ('closed', 'abandoned', 'failed') then coalesce(ended_at, now()) else ended_at end
          where act = $1`,
        [act, stage, JSON.stringify(detail)],
      );
    },
  };
}

const credentialHolder = z.object({ credential: z.string(), act: z.string(), workflowId: z.string().exactOptional() });
const credential = z.object({ credential: z.string() });

export function lockRows(query: Query): LockRows {
  return {
    insertLocks: async (act, credentials) => {
      // In one order for everybody, so that two acts over the same ones wait for each other and never in a ring.
      const taken = await query.rows(
        credential,
        `insert into mesh.credential_locks (credential, act)
         select c.credential, $1 from unnest($2::text[]) as c (credential) order by c.credential
         on conflict (credential) do nothing
         returning credential`,
        [act, [...new Set(credentials)]],
      );
      return taken.map((row) => row.credential);
    },
    lockHolders: (credentials) =>
      query.rows(
        credentialHolder,
        `select l.credential, l.act, a.workflow_id as "workflowId"
           from mesh.credential_locks l
           left join mesh.acts a on a.act = l.act
          where l.credential = any ($1::text[])
          order by l.credential`,
        [credentials],
      ),
    deleteLocks: (act, credentials) =>
      query.run(
        `delete from mesh.credential_locks where act = $1 and ($2::text[] is null or credential = any ($2::text[]))`,
        [act, credentials ?? null],
      ),
  };
}
