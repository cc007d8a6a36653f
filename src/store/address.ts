import { readFile } from 'node:fs/promises';
import type { ClientConfig } from 'pg';

/** Where a Postgres is and who asks. The password comes from a file when there is one, never from the environment. */
export type StoreAddress = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password?: string;
  /** A file with the password alone in it; a line's end after it does not count. */
  readonly passwordFile?: string;
};

/** What `pg` connects with. A password file is read at each login, so that a new password needs no restart. */
export function connectionOf(address: StoreAddress): ClientConfig {
  const { host, port, database, user, password, passwordFile } = address;
  const common = { host, port, database, user, application_name: 'mesh' };
  if (passwordFile === undefined) return password === undefined ? common : { ...common, password };
  return { ...common, password: async () => (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '') };
}
