/** What an act still waits for, in words: pure judgements over rows, so that text, status and workflow agree (A1.4, D23). */
import { pairPath, type PairKey } from '../credential/credential.ts';
import type { GranterEntry, Outcome, Report } from '../report/report.ts';
import type { NodeName, ProvisionName } from '../words/names.ts';

/** current and applied is the only good answer; everything else is waited for or is a failure (D23). */
export type Arrival = 'applied' | 'failed' | 'refused' | 'waiting';

/** Whether a node's last report says that what was last sent to it is so. */
export function arrivalOf(
  sent: { readonly digest: string; readonly number: number } | undefined,
  reported:
    | {
        readonly digest?: string | undefined;
        readonly number?: number | undefined;
        readonly outcome: Outcome;
        /** Nothing failed but what waits for a value that somebody else is still to give. */
        readonly waits?: true | undefined;
      }
    | undefined,
): Arrival {
  if (sent === undefined || reported === undefined) return 'waiting';
  // The number as well: what was sent may say again what it said two sendings ago.
  if (reported.digest !== sent.digest || reported.number !== sent.number) return 'waiting';
  switch (reported.outcome) {
    case 'failed':
      return reported.waits === true ? 'waiting' : 'failed';
    case 'applied':
    case 'refused':
      return reported.outcome;
    case 'idle':
      return 'waiting';
  }
}

/** How much of a node's own words is said where an act tells what it waits for; `mesh status` has them whole. */
const wordsAtMost = 300;

/**
 * What a node is waited for, in words; undefined once it has applied what it was last sent. A node that has everything but a
 * value that is still to come says which file waits, for which placeholder and why (P12): that, and not the node, is what a
 * person can do something about.
 */
export function waitsForNode(
  node: NodeName,
  sent: Parameters<typeof arrivalOf>[0],
  reported: (Pick<Report, 'digest' | 'number' | 'outcome'> & { readonly failures: Failures }) | undefined,
): string | undefined {
  const waits = reported !== undefined && isWaiting(reported.failures);
  const arrival = arrivalOf(sent, reported && { ...reported, ...(waits ? { waits } : {}) });
  if (arrival === 'applied') return undefined;
  if (arrival !== 'waiting') return `${node} to apply it: its last report says ${arrival}`;
  const isAnswer = sent !== undefined && reported?.digest === sent.digest && reported.number === sent.number;
  const [first, ...more] = reported?.failures ?? [];
  if (!isAnswer || first === undefined) return `${node} to report what it was sent`;
  const { resource, error } = first;
  const said = error.length > wordsAtMost ? `${error.slice(0, wordsAtMost)}…` : error;
  const rest = more.length === 0 ? '' : ` (and ${more.length} more that wait there)`;
  return `${node} to have what ${resource} is filled with: ${said}${rest}`;
}

type Failures = readonly Pick<Report['failures'][number], 'resource' | 'error' | 'waits'>[];

/** Whether a report fails for nothing but values that are still to come. */
function isWaiting(failures: Failures): boolean {
  return failures.length > 0 && failures.every(({ waits }) => waits === true);
}

export type Granted = { readonly key: PairKey; readonly generation: number };
type Entry = Pick<
  GranterEntry,
  | 'node'
  | 'module'
  | 'local'
  | 'generation'
  | 'state'
  | 'seen'
  | 'sessionsEnded'
  | 'fault'
  | 'faultSince'
  | 'valueRefused'
> & {
  readonly provider: NodeName;
};

/** The granter's word about one credential's generation, if it gave any. */
export function entryOf<E extends Entry>(entries: readonly E[], { key, generation }: Granted): E | undefined {
  return entries.find(
    (entry) =>
      entry.provider === key.providerNode &&
      entry.node === key.consumerNode &&
      entry.module === key.consumerModule &&
      entry.local === key.local &&
      entry.generation === generation,
  );
}

const consumerOf = ({ key }: Granted): string =>
  `${key.consumerModule}@${key.consumerNode}${key.local === undefined ? '' : ` (${key.local})`}`;

/** A granter that can do nothing at all for now: its server is away, its list cannot be read. */
export type GranterFault = {
  readonly provider: NodeName;
  readonly provision: ProvisionName;
  readonly fault: string;
  /** The provider's clock, for people to read. */
  readonly faultSince?: string | undefined;
};

/** What keeps a new generation from being usable at the provider, and since when; empty when its login exists. */
export function waitsForGrant(
  entries: readonly Entry[],
  wanted: readonly Granted[],
  faults: readonly GranterFault[] = [],
): readonly string[] {
  return wanted.flatMap((one) => {
    const entry = entryOf(entries, one);
    if (entry?.state === 'granted') return [];
    const { providerNode, provision } = one.key;
    const whole = faults.find((granter) => granter.provider === providerNode && granter.provision === provision);
    const own = entry?.state === 'fault' ? { ...entry, fault: entry.fault ?? 'it gave no reason' } : undefined;
    const found = whole ?? own;
    const since = found?.faultSince === undefined ? '' : ` (since ${found.faultSince})`;
    const fault = found === undefined ? '' : `: ${found.fault}${since}`;
    return [`${providerNode} to grant ${provision} to ${consumerOf(one)}${fault}`];
  });
}

/** Those whose value the provider's server will not have, and its words: another value has to be made (C34). */
export function refusedValues(
  entries: readonly Entry[],
  wanted: readonly Granted[],
): readonly { readonly key: PairKey; readonly generation: number; readonly reason: string }[] {
  return wanted.flatMap((one) => {
    const entry = entryOf(entries, one);
    if (entry?.state !== 'fault' || entry.valueRefused !== true) return [];
    return [{ ...one, reason: entry.fault ?? 'it gave no reason' }];
  });
}

/**
 * Those of them that may still be granted as they are. Where the values of before come back (C34) nothing else is made: one that the
 * server refused before is refused again, so that waiting for it would never end.
 */
export function grantable(entries: readonly Entry[], wanted: readonly Granted[]): readonly Granted[] {
  const refused = new Set(
    refusedValues(entries, wanted).map(({ key, generation }) => `${pairPath(key)} ${generation}`),
  );
  return wanted.filter(({ key, generation }) => !refused.has(`${pairPath(key)} ${generation}`));
}

/** Consumers that the provider has not seen with the new generation yet. */
export function waitsForUse(entries: readonly Entry[], wanted: readonly Granted[]): readonly string[] {
  return wanted.flatMap((one) =>
    (entryOf(entries, one)?.seen ?? 0) > 0
      ? []
      : [`${consumerOf(one)} to connect with its new ${one.key.provision} credential`],
  );
}

/** Old generations whose login the provider has not ended yet. */
export function waitsForEnd(entries: readonly Entry[], old: readonly Granted[]): readonly string[] {
  return old.flatMap((one) => {
    const entry = entryOf(entries, one);
    if (entry === undefined || entry.state === 'withdrawn') return [];
    return [`${one.key.providerNode} to end the old ${one.key.provision} login of ${consumerOf(one)}`];
  });
}
