import type { SecretForm } from '../declaration/declaration.ts';

/** Whether old and new can both work for a while (S11): only where the consumer's file carries the login, which changes. */
export function overlaps(form: SecretForm): boolean {
  return form !== 'password';
}
