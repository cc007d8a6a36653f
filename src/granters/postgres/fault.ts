/** Something that one grant needs and the server does not give: told in the status, and tried again (S8). */
import { errorCode } from './session.ts';

/** A fault that the granter itself found; its message is a whole sentence that names what it is about. */
export class GrantFault extends Error {
  override readonly name = 'GrantFault';
}

/** The server has a rule that this password does not keep: only another one may be taken (C34). */
export class PasswordRefused extends GrantFault {}

/** Whether the server answered a statement that sets a password by a rule of its own: an invalid value (22), or one it does not admit (28). */
export function isAgainstARule(error: unknown): boolean {
  return /^(22|28)[0-9A-Z]{3}$/.test(errorCode(error) ?? '');
}

/** What is said of an error in the status: the server's or the system's words and code, never a statement. */
export function faultText(error: unknown): string {
  if (error instanceof GrantFault) return error.message;
  if (!(error instanceof Error)) return 'an error without words';
  const code = errorCode(error);
  const words = error.message === '' ? error.name : error.message;
  return code === undefined || words.includes(code) ? words : `${words} (${code})`;
}

/** Whether the same work would succeed at once: somebody else changed the same catalogue row in that moment (C39). */
export function isLostRace(error: unknown): boolean {
  const code = errorCode(error);
  if (code === '40001' || code === '40P01') return true;
  return code === 'XX000' && error instanceof Error && /^tuple concurrently (updated|deleted)$/.test(error.message);
}

/** Does work that is safe to repeat, again when it lost a race, five times at most. */
export async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 5 || !isLostRace(error)) throw error;
    }
  }
}
