/**
 * SCRAM-SHA-256 verifiers (RFC 5803 as PostgreSQL writes them), computed here so that no password is ever part of a
 * statement: what a server logs, and what a person sees in a log, opens nothing.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';

const iterations = 4096;
const form = /^SCRAM-SHA-256\$(\d+):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)$/;

/** The verifier of a password, under a fresh salt. The password must be ASCII, as generated ones are: others would need SASLprep. */
export function scramVerifier(password: string): string {
  return verifierUnder(password, randomBytes(16), iterations);
}

/** Whether a verifier was made from this password; false also for a text that is no verifier. */
export function isVerifierOf(verifier: string, password: string): boolean {
  const [, rounds, salt] = form.exec(verifier) ?? [];
  if (rounds === undefined || salt === undefined) return false;
  const expected = Buffer.from(verifierUnder(password, Buffer.from(salt, 'base64'), Number(rounds)));
  const given = Buffer.from(verifier);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

function verifierUnder(password: string, salt: Buffer, rounds: number): string {
  if (!/^[\x20-\x7e]+$/.test(password)) throw new Error('a password for PostgreSQL must be printable ASCII');
  const salted = pbkdf2Sync(password, salt, rounds, 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${rounds}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
