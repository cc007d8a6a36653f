/** A report and an envelope of a node, for tests that care about the way and not the content. */
import type { Envelope } from '../../src/domain/declaration/declaration.ts';
import type { Report } from '../../src/domain/report/report.ts';
import type { NodeName } from '../../src/domain/words/names.ts';

export function reportOf(node: NodeName, sequence: number): Report {
  return {
    schema: 'mesh.report',
    version: 1,
    node,
    boot: 1,
    sequence,
    outcome: 'idle',
    declared: 0,
    applied: 0,
    failures: [],
    drift: [],
    kept: [],
    capabilities: [],
    carriedPorts: [],
    granters: [],
    intervalMs: 60_000,
    stampedAt: '2026-01-01T00:00:00Z',
  };
}

/** Not signed by anyone: the bus carries envelopes and does not judge them. */
export function envelopeOf(node: NodeName, number: number, body = `{"node":"${node}"}`): Envelope {
  return {
    schema: 'mesh.envelope',
    version: 1,
    node,
    digest: `sha256:${String(number).padStart(64, '0')}`,
    number,
    signature: 'AAAA',
    body,
  };
}
