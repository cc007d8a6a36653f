/**
 * The rule of a server that wants a digit in every password. No server can look into a verifier, which is all that a granter
 * sends; so the rule is kept before the statement goes out, by whoever knows the passwords: the test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { isVerifierOf } from '../../src/granters/postgres/scram.ts';
import type { ProvidePostgres } from '../../src/granters/postgres/provide-postgres.ts';
import type { GrantDirectory } from './granting.ts';

/** Answers as PostgreSQL's own check of passwords does: SQLSTATE 22023. */
class Refused extends Error {
  readonly code = '22023';
}

/** For a granter's `beforeStatement`. A statement whose password is none of the directory's passes. */
export function needsADigit({ directory }: GrantDirectory): NonNullable<ProvidePostgres['beforeStatement']> {
  return (_, sql) => {
    const verifier = /^alter role .* password '(SCRAM-SHA-256[^']*)'/.exec(sql)?.[1];
    if (verifier === undefined) return;
    const passwords = readdirSync(directory).map((file) => readFileSync(path.join(directory, file)));
    const password = passwords.find((one) => isVerifierOf(verifier, one))?.toString();
    if (password !== undefined && !/\d/.test(password)) throw new Refused('password must contain a digit');
  };
}
