import { z } from 'zod';
import type { EventReads, EventRows, MarkReads } from '../../operations/ports/work.ts';
import type { UnreadableReads, UnreadableRows } from '../../operations/ports/declaration-rows.ts';
import type { Query } from '../query.ts';

const eventRow = z.object({
  id: z.number(),
  at: z.date(),
  person: z.string(),
  kind: z.string(),
  about: z.string(),
  detail: z.record(z.string(), z.unknown()),
});

/** Writing events: by `person`, unless an event says by whom. */
export function eventRows(query: Query, person: string): EventRows {
  const events: EventRows['events'] = async (list) => {
    if (list.length === 0) return;
    await query.run(
      `insert into mesh.events (person, kind, about, detail)
       select e.person, e.kind, e.about, e.detail
         from jsonb_to_recordset($1::jsonb) as e (person text, kind text, about text, detail jsonb)`,
      [JSON.stringify(list.map((event) => ({ person, detail: {}, ...event })))],
    );
  };
  return { events, event: (event) => events([event]) };
}

export function eventReads(query: Query): EventReads {
  return {
    eventRows: ({ limit, before, about }) =>
      query.rows(
        eventRow,
        `select id, at, person, kind, about, detail
           from mesh.events
          where ($2::bigint is null or id < $2) and ($3::text is null or about = $3)
          order by id desc
          limit $1`,
        [limit, before ?? null, about ?? null],
      ),
  };
}

export function markReads(query: Query): MarkReads {
  return {
    // Which transactions have ended: another one after each that wrote, and after nothing else.
    mark: async () =>
      (await query.first(z.object({ mark: z.string() }), `select pg_current_snapshot()::text as mark`))?.mark ?? '',
  };
}

export function unreadableRows(query: Query): UnreadableRows {
  return {
    insertUnreadable: async ({ subject, reason, body }) => {
      await query.run(`insert into mesh.unreadable_messages (subject, reason, body) values ($1, $2, $3)`, [
        subject,
        reason,
        Buffer.from(body),
      ]);
    },
  };
}

const unreadableCount = z.object({ count: z.number(), subjects: z.array(z.string()) });

export function unreadableReads(query: Query): UnreadableReads {
  return {
    unreadableCount: async () =>
      (await query.first(
        unreadableCount,
        `select count(*) as count,
                coalesce((select array_agg(s.subject order by s.subject)
                            from (select distinct subject from mesh.unreadable_messages order by subject limit 10) s), '{}') as subjects
           from mesh.unreadable_messages`,
      )) ?? { count: 0, subjects: [] },
  };
}
