// The floor of a push as a command: connects to the bus and the database, builds and digests what each node should be, compares
// with the last digests, sends what differs and waits for every answer, records. Arguments: a file of settings, the value.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, jwtAuthenticator } from 'nats';
import pg from 'pg';

const { servers, jwt, seed, inbox, database, nodes } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const value = process.argv[3];
const fixed = 'x'.repeat(900);
const canon = (of) =>
  of === null || typeof of !== 'object'
    ? JSON.stringify(of)
    : Array.isArray(of)
      ? `[${of.map(canon).join(',')}]`
      : `{${Object.keys(of).sort().map((key) => `${JSON.stringify(key)}:${canon(of[key])}`).join(',')}}`; // prettier-ignore
const nats = await connect({
  servers,
  authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
  inboxPrefix: inbox,
});
const client = new pg.Client(database);
await client.connect();
const want = nodes.map((node) => {
  const files = [1, 2, 3, 4, 5].map((at) => ({
    path: `/etc/site/f${at}.conf`,
    content: at === 3 ? `value = ${value}\n` : `fixed ${at} ${fixed}\n`,
  }));
  return { node, files, digest: createHash('sha256').update(canon({ node, files })).digest('hex') };
});
const { rows } = await client.query('select node, digest from floor.pushed');
const have = new Map(rows.map(({ node, digest }) => [node, digest]));
const left = want.filter(({ node, digest }) => have.get(node) !== digest);
await Promise.all(
  left.map(({ node, files }) => nats.request(`floor.apply.${node}`, canon(files), { timeout: 10_000 })),
);
if (left.length > 0)
  await client.query(
    'insert into floor.pushed select * from unnest($1::text[], $2::text[]) on conflict (node) do update set digest = excluded.digest',
    [left.map(({ node }) => node), left.map(({ digest }) => digest)],
  );
await nats.close();
await client.end();
