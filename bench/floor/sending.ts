/**
 * The least that declares: signs what was composed by hand, publishes all of it in a row to a stream of the same shape,
 * and records what was sent in one statement: digest, number, the stream's sequence, and each resource's digest.
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { DiscardPolicy, StorageType, type JetStreamClient } from 'nats';
import type pg from 'pg';
import type { RaisedMesh } from '../raised-mesh.ts';
import { canon, sha } from './plan.ts';

const { privateKey } = generateKeyPairSync('ed25519');

export type FloorSender = {
  readonly stream: JetStreamClient;
  readonly pg: pg.Client;
};
export type Composed = {
  readonly node: string;
  readonly text: string;
  readonly digest: string;
  readonly resources: readonly string[];
};

export async function floorSender({ bus, pg }: Pick<RaisedMesh, 'bus' | 'pg'>): Promise<FloorSender> {
  const manager = await bus.nats.jetstreamManager({ checkAPI: false });
  await manager.streams.add({
    name: 'FLOOR',
    subjects: ['floor.declare.*'],
    storage: StorageType.File,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    max_bytes: 1024 * 1024 * 1024,
    allow_direct: true,
  });
  await pg.query(`create schema if not exists floor;
    create table if not exists floor.sent (node text primary key, digest text, number bigint, sequence bigint, resources bytea)`);
  return { stream: bus.nats.jetstream({ checkAPI: false }), pg };
}

/** The text and digest of a document, and the texts of its resources. */
export function composedOf(node: string, text: string, resources: readonly string[]): Composed {
  return { node, text, digest: `sha256:${sha(text)}`, resources };
}

export async function floorSend(
  { stream, pg }: FloorSender,
  composed: readonly Composed[],
  number: number,
): Promise<void> {
  await pg.query('select node, digest, sequence from floor.sent');
  const sequences = await Promise.all(
    composed.map(async ({ node, text, digest }) => {
      const signature = sign(null, Buffer.from(`mesh.envelope.v1\n${node}\n${digest}\n${number}\n`), privateKey);
      const head = canon({ node, digest, number, signature: signature.toString('base64') });
      return (await stream.publish(`floor.declare.${node}`, `${head}\n${text}`)).seq;
    }),
  );
  const digests = new Map<string, Buffer>();
  const digestOf = (text: string): Buffer => {
    const known = digests.get(text) ?? createHash('sha256').update(text).digest();
    digests.set(text, known);
    return known;
  };
  await pg.query(
    `insert into floor.sent select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[])
     on conflict (node) do update set digest = excluded.digest, number = excluded.number, sequence = excluded.sequence, resources = excluded.resources`,
    [
      composed.map(({ node }) => node),
      composed.map(({ digest }) => digest),
      composed.map(() => number),
      sequences,
      composed.map(({ resources }) => Buffer.concat(resources.map(digestOf))),
    ],
  );
}
