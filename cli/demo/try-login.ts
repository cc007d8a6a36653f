import { logInOnce } from '../../src/granters/postgres/log-in-once.ts';

export type Credential = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
};

/** Logs in once; the SQLSTATE when it was refused, undefined when it worked. */
export const tryLogin = (credential: Credential): Promise<string | undefined> => logInOnce(credential);
