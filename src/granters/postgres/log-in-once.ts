import pg from 'pg';
import { z } from 'zod';

const coded = z.object({ code: z.string() });

/** Logs in and out again; answers the SQLSTATE (or the system's code) when it was refused, undefined when it worked. */
export async function logInOnce(credential: {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
}): Promise<string | undefined> {
  const client = new pg.Client({ ...credential, connectionTimeoutMillis: 5_000 });
  // A connection that the server ends while we leave it is no news.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return undefined;
  } catch (error) {
    const read = coded.safeParse(error);
    return read.success ? read.data.code : 'unknown';
  }
}
