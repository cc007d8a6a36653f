/**
 * One connection inside one transaction, as the rows' functions use it: they see text and values, and get back rows
 * that were checked, with `null` columns left out.
 */
import pg from 'pg';
import { z } from 'zod';

export type Query = {
  /** Every row, checked against `shape`. */
  rows<T>(shape: z.ZodType<T>, text: string, values?: readonly unknown[]): Promise<readonly T[]>;
  /** The first row, if there is one. */
  first<T>(shape: z.ZodType<T>, text: string, values?: readonly unknown[]): Promise<T | undefined>;
  /** Rows as lists of columns, unchecked: for reads of tens of thousands, which check cheaply themselves. */
  tuples(text: string, values?: readonly unknown[]): Promise<readonly (readonly unknown[])[]>;
  /** How many rows a change touched. */
  run(text: string, values?: readonly unknown[]): Promise<number>;
};

/** The queries of one client. */
export function queryOf(client: pg.ClientBase): Query {
  const rows: Query['rows'] = async (shape, text, values = []) => {
    const found = await client.query<Record<string, unknown>>(prepared(text, values));
    return z.array(shape).parse(found.rows.map(withoutNulls));
  };
  return {
    rows,
    first: async (shape, text, values) => (await rows(shape, text, values))[0],
    tuples: async (text, values = []) =>
      (await client.query<unknown[]>({ ...prepared(text, values), rowMode: 'array' })).rows,
    run: async (text, values = []) => (await client.query(prepared(text, values))).rowCount ?? 0,
  };
}

/** Each text is parsed once by a connection, and planned once where its plan does not depend on the values: that is half of a snapshot's time. */
function prepared(text: string, values: readonly unknown[]) {
  return { name: nameOf(text), text, values: [...values], types };
}
/** The texts are those of this folder, so there are few: values are never written into them. */
const statements = new Map<string, string>();
function nameOf(text: string): string {
  const known = statements.get(text) ?? `mesh_${statements.size}`;
  statements.set(text, known);
  return known;
}

/** A column without a value is an absent field, everywhere above the store. */
function withoutNulls(row: Record<string, unknown>): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const column in row) if (row[column] !== null) found[column] = row[column];
  return found;
}

/** bigint columns hold ids and counters that stay far below 2^53; read as numbers, and never silently rounded. */
const int8 = 20;
const types = new pg.TypeOverrides();
types.setTypeParser(int8, (text) => {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${text} does not fit a number`);
  return number;
});
