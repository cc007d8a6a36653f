import type { SecretForm } from '../declaration/declaration.ts';

/**
 * How a consumer holds a credential: in a file of its own, or in files that placeholders fill. `filled` ones ask for the login
 * as well; `filled-password` ones never do, so that theirs must not change.
 */
export type FilledForm = 'filled' | 'filled-password';
export type CredentialForm = SecretForm | FilledForm;

/** Whether old and new can both work for a while (S11): only where the consumer's files carry the login, which changes. */
export function overlaps(form: CredentialForm): boolean {
  return form !== 'password' && form !== 'filled-password';
}
