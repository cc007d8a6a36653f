/** The mesh's own database on its server, and the role that owns it. */
import pg from 'pg';

import { makeVerifier } from '../granters/postgres/scram.ts';
import { passwordBytes, readPassword } from './files.ts';

export const meshDatabase = 'mesh';
/** Owns the database; what the controller's processes log in as. */
export const controllerRole = 'mesh_controller';

export type DatabaseAsked = {
  readonly address: string;
  readonly port: number;
  readonly superuserPasswordFile: string;
  readonly controllerPasswordFile: string;
};

/** Makes the role and the database unless they are there, and gives the role the password that its file says. Safe to repeat. */
export async function ensureMeshDatabase(asked: DatabaseAsked): Promise<void> {
  if (await mayLogIn(asked)) return;
  const superuser = new pg.Client({
    host: asked.address,
    port: asked.port,
    user: 'postgres',
    password: await readPassword(asked.superuserPasswordFile),
    database: 'postgres',
  });
  await superuser.connect();
  try {
    const has = async (query: string, name: string): Promise<boolean> =>
      (await superuser.query(query, [name])).rowCount === 1;
    const verifier = makeVerifier(await passwordBytes(asked.controllerPasswordFile));
    const verb = (await has('select from pg_roles where rolname = $1', controllerRole)) ? 'alter' : 'create';
    await superuser.query(`${verb} role ${controllerRole} with login password '${verifier}'`);
    if (!(await has('select from pg_database where datname = $1', meshDatabase))) {
      await superuser.query(`create database ${meshDatabase} owner ${controllerRole}`);
    }
    await superuser.query(`revoke all on database ${meshDatabase} from public`);
  } finally {
    await superuser.end();
  }
}

/** Whether all is as it must be; a right password proves the role, and the database that it owns. */
async function mayLogIn({ address, port, controllerPasswordFile }: DatabaseAsked): Promise<boolean> {
  const password = await readPassword(controllerPasswordFile);
  const client = new pg.Client({ host: address, port, user: controllerRole, password, database: meshDatabase });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}
