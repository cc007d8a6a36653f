import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { ActRow, ActRows } from '../ports/act-rows.ts';
import type { EventReads, EventRow } from '../ports/work.ts';
import type { Reads } from '../ports/work.ts';

/** The durable acts, the newest first; with `openOnly`, those that have not ended. */
export function listActs(
  store: Reads<Pick<ActRows, 'actRows'>>,
  which: { readonly limit: number; readonly openOnly?: boolean },
): Promise<readonly ActRow[]> {
  return store.read((view) => view.actRows(which));
}

/** One act, by its own id or, the latest of them, by its workflow's id; refused as `unknown-act`. */
export async function showAct(store: Reads<Pick<ActRows, 'actByName'>>, name: string): Promise<ActRow | Refusal> {
  const row = await store.read((view) => view.actByName(name));
  if (row !== undefined) return row;
  return {
    kind: 'unknown-act',
    what: `there is no act ${name}`,
    why: 'an act is known once it has begun',
    next: ['mesh acts'],
    facts: { act: name },
  };
}

/** What happened, the newest first; `before` is an event's id to go on from, `about` the thing it happened to. */
export function listEvents(
  store: Reads<EventReads>,
  page: { readonly limit: number; readonly before?: number; readonly about?: string },
): Promise<readonly EventRow[]> {
  return store.read((view) => view.eventRows(page));
}
