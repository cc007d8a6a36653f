/** Whether the value that a person hands over can be the secret it is meant to be (S12). No refusal tells a byte of it (S5). */
import type { Refusal } from '../refusal/refusal.ts';
import type { Acceptable } from './accepting.ts';
import type { CredentialForm } from './overlaps.ts';

/**
 * 64 KiB: what a value may weigh. A declaration holds it in base64 beside everything else of its node, 6 MiB in all (D4), and
 * that is one message of the bus: sixty of the largest still leave room for a node's files.
 */
export const valueLimitBytes = 64 * 1024;

/**
 * What keeps these bytes from being this secret, as `value-unfit`; undefined when nothing does. They are never changed to fit.
 * What a provider's server has rules for only that server knows: it has its say when both ends were pushed.
 */
export function unfitFor(secret: Acceptable, bytes: Uint8Array): Refusal | undefined {
  const unfit = unfitAnywhere(bytes) ?? (secret.kind === 'pair' ? unfitAsCredential(secret.form, bytes) : undefined);
  if (unfit === undefined) return undefined;
  const { what, why, next = [] } = unfit;
  return {
    kind: 'value-unfit',
    what: `this value cannot be ${secret.path}: ${what}`,
    why,
    next,
    facts: { secret: secret.path, limitBytes: valueLimitBytes },
  };
}

type Unfit = Pick<Refusal, 'what' | 'why'> & Partial<Pick<Refusal, 'next'>>;

function unfitAnywhere(bytes: Uint8Array): Unfit | undefined {
  if (bytes.length > valueLimitBytes)
    return {
      what: `it has more than ${valueLimitBytes} bytes`,
      why: `a value travels in the declarations of its nodes, and may have ${valueLimitBytes} bytes (64 KiB) of one`,
    };
  if (bytes.includes(0))
    return {
      what: 'it has a NUL byte in it',
      why: 'most programs take that for the end of a text, and would go on with the part before it',
    };
  return undefined;
}

function unfitAsCredential(form: CredentialForm, bytes: Uint8Array): Unfit | undefined {
  if (bytes.length === 0)
    return { what: 'it is empty', why: 'nobody can log in with an empty password: a server takes it for none' };
  if (form === 'password') return undefined;
  const isFilled = form === 'filled' || form === 'filled-password';
  const as = isFilled ? 'in a file that is filled in' : `in the form ${form}`;
  const next = ['write the manifest so that it asks for the form password, which is the value as it is'];
  if (!isText(bytes))
    return { what: 'it is no text in UTF-8', why: `its consumer has it ${as}, which holds text alone`, next };
  if (form === 'pgpass' && (bytes.includes(lineFeed) || bytes.includes(carriageReturn)))
    return {
      what: 'it has a line break in it',
      why: `its consumer has it ${as}, where a credential is one line`,
      next,
    };
  return undefined;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
