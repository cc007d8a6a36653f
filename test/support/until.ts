/** Waiting on a condition, never for a time: until(() => rows.length === 2, { withinMs: 5_000, what: 'both rows' }). */
export { until } from '../../src/foundation/until.ts';
