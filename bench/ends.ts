/**
 * What the two ends of a credential do with it, the same for floor and product: a node writes each file whole; the
 * provider's granter gives each login its password, and one of them logs in.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import type { RaisedMesh } from './raised-mesh.ts';
import { writeWhole } from './written-files.ts';

export type Ends = {
  /** A node holds so many new credentials. */
  hold(count: number): Promise<void>;
  /** The granter grants so many. */
  grant(count: number): Promise<void>;
};

const held = '{"login":"bench","password":"none"}\n';
const login = { user: 'bench_login', password: 'of the bench alone', database: 'postgres' };

export async function makeEnds({ stateDir, foundation }: Pick<RaisedMesh, 'stateDir' | 'foundation'>): Promise<Ends> {
  const { host, port, superuserPasswordFile } = foundation.postgres;
  const password = (await readFile(superuserPasswordFile, 'utf8')).trim();
  const superuser = new pg.Client({ host, port, user: 'postgres', database: 'postgres', password });
  await superuser.connect();
  await superuser.query(`create role ${login.user} login`);
  let files = 0;
  return {
    async hold(count) {
      await Promise.all(
        Array.from({ length: count }, () => writeWhole(path.join(stateDir, `held-${(files += 1) % 200}`), held)),
      );
    },
    async grant(count) {
      const statement = `alter role ${login.user} password '${login.password}'`;
      await superuser.query(Array.from({ length: count }, () => statement).join(';'));
      const once = new pg.Client({ host, port, ...login });
      await once.connect();
      await once.end();
    },
  };
}
