/**
 * Passwords as the server keeps them: SCRAM-SHA-256 verifiers, made here so that no statement ever carries a password
 * (S8). A verifier lets nobody log in; with `log_statement = all` it is all that a log holds.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';

const iterations = 4096; // the server's own default, scram_iterations

/** The verifier of a password, as `ALTER ROLE … PASSWORD` takes it ready-made. The caller clears the password. */
export function makeVerifier(password: Uint8Array): string {
  return verifier(password, randomBytes(16), iterations);
}

/** Whether the verifier that the server keeps is the one of this password. False for any other kind of text. */
export function isVerifierOf(kept: string, password: Uint8Array): boolean {
  const parts = /^SCRAM-SHA-256\$(\d{1,7}):([A-Za-z0-9+/=]+)\$/.exec(kept);
  const [, count, salt] = parts ?? [];
  if (count === undefined || salt === undefined || Number(count) === 0) return false;
  const made = Buffer.from(verifier(password, Buffer.from(salt, 'base64'), Number(count)));
  const there = Buffer.from(kept);
  return made.length === there.length && timingSafeEqual(made, there);
}

function verifier(password: Uint8Array, salt: Uint8Array, count: number): string {
  const prepared = saslPrepared(password);
  const salted = pbkdf2Sync(prepared, salt, count, 32, 'sha256');
  if (prepared !== password) prepared.fill(0);
  const storedKey = createHash('sha256')
    .update(createHmac('sha256', salted).update('Client Key').digest())
    .digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  salted.fill(0);
  return `SCRAM-SHA-256$${count}:${Buffer.from(salt).toString('base64')}$${storedKey}:${serverKey}`;
}

/**
 * The password as clients hash it (RFC 4013). What the mesh makes is plain ASCII and stays as it is; a text that a
 * person brought may need folding, and where the rule forbids it the server and its clients take the bytes as they are.
 */
function saslPrepared(password: Uint8Array): Uint8Array {
  if (password.every((byte) => byte >= 0x20 && byte < 0x7f)) return password;
  let text: string;
  try {
    text = new TextDecoder('utf8', { fatal: true, ignoreBOM: true }).decode(password);
  } catch {
    return password; // not UTF-8: bytes as they are, as the server does
  }
  const folded = text
    .replace(/[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/gu, ' ')
    .replace(mappedToNothing, '')
    .normalize('NFKC');
  const forbidden =
    /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u0340\u0341\u06dd\u070f\u180e\u200e\u200f\u2028-\u202e\u2061-\u2063\u206a-\u206f\ufff9-\ufffd]/u;
  return folded === '' || forbidden.test(folded) ? password : Buffer.from(folded, 'utf8');
}

// RFC 3454, table B.1.
const mappedToNothing = /\u00ad|\u034f|\u1806|[\u180b-\u180d]|\u200c|\u200d|\u2060|[\ufe00-\ufe0f]|\ufeff/gu;
