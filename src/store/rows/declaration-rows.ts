import { z } from 'zod';
import { granterStatus, outcome, report } from '../../domain/report/report.ts';
import { moduleName, nodeName, provisionName } from '../../domain/words/names.ts';
import type {
  LastSent,
  ReportReads,
  ReportRows,
  SentReads,
  SentRows,
} from '../../operations/ports/declaration-rows.ts';
import type { Query } from '../query.ts';

const sentRow = z.object({
  node: nodeName,
  digest: z.string(),
  number: z.number(),
  streamSequence: z.number(),
  sentAt: z.date(),
});
const lastSentIn = z
  .tuple([
    nodeName,
    z.string(),
    z.number(),
    z.number(),
    outcome.nullable(),
    z.string().nullable(),
    z.number().nullable(),
    z.boolean().nullable(),
  ])
  .transform(([node, digest, number, streamSequence, said, saidDigest, saidNumber, waits]): LastSent => {
    const sent = { node, digest, number, streamSequence };
    if (said === null) return sent;
    const about = {
      ...(saidDigest !== null && { digest: saidDigest }),
      ...(saidNumber !== null && { number: saidNumber }),
      ...(waits === true && { waits: true as const }),
    };
    return { ...sent, reported: { outcome: said, ...about } };
  });
/** Whether a report fails for nothing but values that are still to come. */
const waits = `(r.outcome = 'failed' and r.failures <> '[]'
  and not exists (select from jsonb_array_elements(r.failures) as f where not f ? 'waits'))`;
const sentResourcesRow = z.object({
  node: nodeName,
  resources: z.record(z.string(), z.string()).transform((resources) => new Map(Object.entries(resources))),
});

export function sentReads(query: Query): SentReads {
  return {
    sentRows: (nodes) =>
      query.rows(
        sentRow,
        `select node, digest, number, stream_sequence as "streamSequence", sent_at as "sentAt"
           from mesh.sent_declarations
          where $1::text[] is null or node = any ($1::text[])
          order by node`,
        [nodes ?? null],
      ),
    lastSent: async (nodes) => {
      const tuples = await query.tuples(
        `select s.node, s.digest, s.number, s.stream_sequence, r.outcome, r.digest, r.number, ${waits} as waits
           from mesh.sent_declarations s
           left join mesh.reports r on r.node = s.node
          where $1::text[] is null or s.node = any ($1::text[])`,
        [nodes ?? null],
      );
      return new Map(tuples.map((tuple) => lastSentIn.parse(tuple)).map((row) => [row.node, row]));
    },
    sentResources: async (nodes) => {
      const rows = await query.rows(
        sentResourcesRow,
        `select node, resources from mesh.sent_declarations where node = any ($1::text[])`,
        [nodes],
      );
      return new Map(rows.map(({ node, resources }) => [node, resources]));
    },
  };
}

export function sentRows(query: Query): SentRows {
  return {
    putSent: async (sent) => {
      if (sent.length === 0) return [];
      const recorded = await query.rows(
        z.object({ node: nodeName }),
        `insert into mesh.sent_declarations as kept (node, digest, number, stream_sequence, resources)
         select s.node, s.digest, s.number, s."streamSequence", s.resources
           from jsonb_to_recordset($1::jsonb) as s (node text, digest text, number bigint, "streamSequence" bigint, resources jsonb)
          order by s.node
         on conflict (node) do update
            set digest = excluded.digest, number = excluded.number, stream_sequence = excluded.stream_sequence,
                resources = excluded.resources, sent_at = now()
          where kept.number < excluded.number
         returning node`,
        [JSON.stringify(sent.map((one) => ({ ...one, resources: Object.fromEntries(one.resources) })))],
      );
      return recorded.map(({ node }) => node);
    },
  };
}

const reportRow = z.object({
  node: nodeName,
  boot: z.number(),
  sequence: z.number(),
  outcome,
  digest: z.string().exactOptional(),
  number: z.number().exactOptional(),
  declared: z.int(),
  applied: z.int(),
  failures: z.array(z.object({ resource: z.string(), error: z.string(), waits: z.literal(true).exactOptional() })),
  refusal: z.object({ kind: z.string(), detail: z.string() }).exactOptional(),
  drift: z.array(z.string()),
  kept: z.array(z.string()),
  declarationGone: z.literal(true).exactOptional(),
  postponed: report.shape.postponed.unwrap().exactOptional(),
  intervalMs: z.int(),
  stampedAt: z.string(),
  receivedAt: z.date(),
  failingSince: z.date().exactOptional(),
  failingReports: z.int(),
});
const columns = `node, boot, sequence, outcome, digest, number, declared, applied, failures, refusal, drift, kept,
  nullif(declaration_gone, false) as "declarationGone", postponed, interval_ms as "intervalMs", stamped_at as "stampedAt", received_at as "receivedAt",
  failing_since as "failingSince", failing_reports as "failingReports"`;

const granterRow = z.object({
  node: nodeName,
  module: moduleName,
  provision: provisionName,
  status: granterStatus,
  receivedAt: z.date(),
});

export function reportReads(query: Query): ReportReads {
  return {
    reportRows: (nodes) =>
      query.rows(
        reportRow,
        `select ${columns} from mesh.reports where $1::text[] is null or node = any ($1::text[]) order by node`,
        [nodes ?? null],
      ),
    granterRows: (nodes) =>
      query.rows(
        granterRow,
        `select node, module, provision, status, received_at as "receivedAt"
           from mesh.granter_reports
          where $1::text[] is null or node = any ($1::text[])
          order by node, module, provision`,
        [nodes ?? null],
      ),
  };
}

export function reportRows(query: Query): ReportRows {
  return {
    holdReports: async (nodes) => {
      // The nodes' own rows, since a node that never spoke has no report to hold; in one order for everybody, so never in a ring.
      const held = query.run(`select from mesh.nodes where node = any ($1::text[]) order by node for no key update`, [
        nodes,
      ]);
      // Looked at after they are held, also when both are sent in a row.
      const found = query.rows(reportRow, `select ${columns} from mesh.reports where node = any ($1::text[])`, [nodes]);
      return (await Promise.all([found, held]))[0];
    },
    lastNumber: async () =>
      (
        await query.first(
          z.object({ number: z.number() }),
          `select case when is_called then last_value else 0 end as number from mesh.declaration_number`,
        )
      )?.number ?? 0,
    putReports: async (rows) => {
      await query.run(
        `insert into mesh.reports (node, boot, sequence, outcome, digest, number, declared, applied, failures, refusal,
                drift, kept, declaration_gone, postponed, interval_ms, stamped_at, received_at, failing_since, failing_reports)
         select node, boot, sequence, outcome, digest, number, declared, applied, failures, refusal,
                drift, kept, coalesce("declarationGone", false), postponed, "intervalMs", "stampedAt", "receivedAt", "failingSince", "failingReports"
           from jsonb_to_recordset($1::jsonb) as r (node text, boot bigint, sequence bigint, outcome text, digest text,
                number bigint, declared int, applied int, failures jsonb, refusal jsonb, drift jsonb, kept jsonb, "declarationGone" boolean, postponed jsonb,
                "intervalMs" int, "stampedAt" text, "receivedAt" timestamptz, "failingSince" timestamptz, "failingReports" int)
         on conflict (node) do update
            set boot = excluded.boot, sequence = excluded.sequence, outcome = excluded.outcome, digest = excluded.digest,
                number = excluded.number, declared = excluded.declared, applied = excluded.applied,
                failures = excluded.failures, refusal = excluded.refusal, drift = excluded.drift, kept = excluded.kept,
                declaration_gone = excluded.declaration_gone, postponed = excluded.postponed,
                interval_ms = excluded.interval_ms, stamped_at = excluded.stamped_at, received_at = excluded.received_at,
                failing_since = excluded.failing_since, failing_reports = excluded.failing_reports`,
        [JSON.stringify(rows)],
      );
    },
    replaceCapabilities: async (node, capabilities) => {
      await query.run(
        `update mesh.nodes set capabilities_reported = true where node = $1 and not capabilities_reported`,
        [node],
      );
      await query.run(`delete from mesh.node_capabilities where node = $1 and name <> all ($2::text[])`, [
        node,
        capabilities.map(({ name }) => name),
      ]);
      await query.run(
        `insert into mesh.node_capabilities as kept (node, name, present, detail, reason)
         select $1, c.name, c.present, coalesce(c.detail, '{}'), c.reason
           from jsonb_to_recordset($2::jsonb) as c (name text, present boolean, detail jsonb, reason text)
         on conflict (node, name) do update
            set present = excluded.present, detail = excluded.detail, reason = excluded.reason
          where (kept.present, kept.detail, kept.reason) is distinct from (excluded.present, excluded.detail, excluded.reason)`,
        [node, JSON.stringify(capabilities)],
      );
    },
    replaceCarriedPorts: async (node, ports) => {
      const rows = JSON.stringify(ports);
      const asked = `jsonb_to_recordset($2::jsonb) as p (protocol text, port int)`;
      await query.run(
        `delete from mesh.carried_ports kept
          where node = $1 and not exists (select from ${asked} where p.protocol = kept.protocol and p.port = kept.port)`,
        [node, rows],
      );
      await query.run(
        `insert into mesh.carried_ports (node, protocol, port)
         select distinct $1, p.protocol, p.port from ${asked}
         on conflict do nothing`,
        [node, rows],
      );
    },
    putGranterReports: async (said, receivedAt) => {
      const last = new Map(
        said.flatMap(({ node, granters }) =>
          granters.map(({ module, status }) => {
            const row = { node, module, provision: status.provision, status };
            return [`${node}/${module}/${status.provision}`, row] as const;
          }),
        ),
      );
      if (last.size === 0) return;
      await query.run(
        `insert into mesh.granter_reports (node, module, provision, status, received_at)
         select node, module, provision, status, $2
           from jsonb_to_recordset($1::jsonb) as g (node text, module text, provision text, status jsonb)
         on conflict (node, module, provision) do update
            set status = excluded.status, received_at = excluded.received_at`,
        [JSON.stringify([...last.values()]), receivedAt],
      );
    },
  };
}
