/**
 * The least that pushes: builds each node's declaration and its digest, compares with the last ones, sends what differs to
 * the nodes over the bus, waits for every answer, and records. The floor's nodes do what the product's do.
 */
import { floorApplySubject } from './nodes.ts';
import type { RaisedMesh } from '../raised-mesh.ts';
import { canon, sha } from './plan.ts';

export type FloorPush = { push(value: string): Promise<number> };

const fixed = 'x'.repeat(900);

/** The content of the five files of a node: one of them holds the value. */
export const filesWith = (value: string): readonly { readonly path: string; readonly content: string }[] =>
  [1, 2, 3, 4, 5].map((at) => ({
    path: `/etc/site/f${at}.conf`,
    content: at === 3 ? `value = ${value}\n` : `fixed ${at} ${fixed}\n`,
  }));

export async function floorPush(
  { bus, pg }: Pick<RaisedMesh, 'bus' | 'pg'>,
  nodes: readonly string[],
): Promise<FloorPush> {
  await pg.query(
    'create schema if not exists floor; create table if not exists floor.pushed (node text primary key, digest text)',
  );
  return {
    async push(value) {
      const want = nodes.map((node) => {
        const files = filesWith(value);
        return { node, files, digest: sha(canon({ node, files })) };
      });
      const { rows } = await pg.query<{ node: string; digest: string }>('select node, digest from floor.pushed');
      const have = new Map(rows.map(({ node, digest }) => [node, digest]));
      const left = want.filter(({ node, digest }) => have.get(node) !== digest);
      await Promise.all(
        left.map(({ node, files }) => bus.nats.request(floorApplySubject(node), canon(files), { timeout: 10_000 })),
      );
      if (left.length > 0)
        await pg.query(
          `insert into floor.pushed select * from unnest($1::text[], $2::text[])
           on conflict (node) do update set digest = excluded.digest`,
          [left.map(({ node }) => node), left.map(({ digest }) => digest)],
        );
      return left.length;
    },
  };
}
