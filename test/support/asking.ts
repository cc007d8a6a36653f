/** SQL beside the product, over one session: some tests look hundreds of times, and each login is a process of the server's. */
import pg from 'pg';

import { connectionOf, type StoreAddress } from '../../src/store/address.ts';

export type Asking = {
  readonly ask: (sql: string) => Promise<readonly Record<string, unknown>[]>;
  readonly close: () => Promise<void>;
};

/** Logs in at the first question, and again after the server was away. */
export function askingAt(address: StoreAddress): Asking {
  let session: Promise<pg.Client> | undefined;
  const logIn = async (): Promise<pg.Client> => {
    const client = new pg.Client(connectionOf(address));
    const forget = (): void => void (session = undefined);
    client.on('error', forget);
    client.on('end', forget);
    await client.connect();
    return client;
  };
  return {
    async ask(sql) {
      session ??= logIn();
      const client = await session.catch((error: unknown) => {
        session = undefined;
        throw error;
      });
      return (await client.query<Record<string, unknown>>(sql)).rows;
    },
    async close() {
      await (await session)?.end();
    },
  };
}
