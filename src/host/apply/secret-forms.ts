/**
 * What a secret's file holds, in the form that was asked for (S6). The credential is put together with its readable
 * facts here, on the node, and nowhere else; no error tells a byte of it.
 */
import type { AccessFacts, SecretForm } from '../../domain/declaration/declaration.ts';

/** The bytes of the file. Throws when the form needs facts that were not sent, or cannot hold this value. */
export function secretFile(form: SecretForm, value: Uint8Array, facts: AccessFacts | undefined): Uint8Array {
  // The value as it is: whatever it was made of, it arrives byte for byte.
  if (form === 'password') return Uint8Array.from(value);
  if (facts === undefined)
    throw new Error(`the form ${form} needs to know whose credential it is, and that was not sent`);
  const password = textOf(value, form);
  switch (form) {
    case 'json':
      return Buffer.from(JSON.stringify({ login: facts.login, password }));
    case 'pgpass':
      return Buffer.from(`${pgpassLine(facts, password)}\n`);
    case 'url':
      return Buffer.from(address(facts, password));
    default:
      return form satisfies never;
  }
}

function pgpassLine({ host, port, database, login }: AccessFacts, password: string): string {
  const fields = [host, String(port), database, login, password];
  if (fields.some((field) => /[\r\n\0]/.test(field)))
    throw new Error('the form pgpass cannot hold a value with a line break');
  return fields.map((field) => field.replaceAll(/[\\:]/g, (special) => `\\${special}`)).join(':');
}

function address({ host, port, database, login }: AccessFacts, password: string): string {
  const at = host.includes(':') ? `[${host}]` : host;
  return `postgresql://${encodeURIComponent(login)}:${encodeURIComponent(password)}@${at}:${port}/${encodeURIComponent(database)}`;
}

function textOf(value: Uint8Array, form: SecretForm): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    // No cause: a decoder's complaint is about the value.
    throw new Error(`the form ${form} holds text, and the value is none`);
  }
}
