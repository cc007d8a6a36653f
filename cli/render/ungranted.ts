import type { Ungranted } from '../../src/operations/plan/ungranted.ts';
import type { Look } from './look.ts';
import { time } from './time.ts';

/** What a provider's granter cannot do, and the command that most likely makes it good. */
export function ungrantedLines({ reason, since, next, ...of }: Ungranted, look: Look): readonly string[] {
  const at = since === undefined ? '' : `, since ${time(since, look)}`;
  return [`${ungrantedText(of)}: ${reason}${at}`, ...next.map((line) => `  ${look.paint.cyan(line)}`)];
}

export function ungrantedText({ provider, provision, to }: Pick<Ungranted, 'provider' | 'provision' | 'to'>): string {
  return to === undefined
    ? `${provider} can grant no ${provision} for now, and tries again by itself`
    : `${provider} cannot grant ${provision} to ${to}, which cannot log in`;
}
