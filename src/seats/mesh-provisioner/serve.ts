/** Serves the seat `mesh-provisioner`: reads the buckets and answers; it writes nothing. */
import { z } from 'zod';
import type { BusConnection } from '../../bus/connection.ts';
import { provisionerSeat } from '../../bus/accounts.ts';
import { serveSeat, serving } from '../../bus/verbs.ts';
import { appliedKeys, collectKeys, needKeys, registryKeys, type KeyFault } from '../../domain/provisioning/keys.ts';
import { applied, buckets, collected, need, registryEntry } from '../../domain/provisioning/values.ts';
import { provisioningVerb, type ProvisioningWhat } from './verbs.ts';

type Request = z.output<typeof provisioningVerb.request>;
type Answer = z.input<typeof provisioningVerb.answer>;
type Parts = Readonly<Record<string, string | undefined>>;

export type ProvisionerSeatPorts = {
  readonly bus: BusConnection;
  /** Every key of a bucket with its value. */
  readonly read: (bucket: string) => Promise<ReadonlyMap<string, string>>;
  readonly onFault: (fault: unknown) => void;
};

/** Serves until `stop`. */
export function serveProvisionerSeat(ports: ProvisionerSeatPorts): Promise<{ stop(): Promise<void> }> {
  const verbs = [
    serving(provisioningVerb, async (request) => answerFrom(await ports.read(sources[request.what].bucket), request)),
  ];
  return serveSeat(ports.bus, provisionerSeat, verbs, ports.onFault);
}

type Source = {
  readonly bucket: string;
  readonly read: (key: string) => { readonly kind: 'key'; readonly parts: Parts } | KeyFault;
  readonly value: z.ZodType;
  /** Whose it is: what `module` in the request stands for. */
  readonly moduleOf: (parts: Parts, value: unknown) => string | undefined;
};

const sources: Readonly<Record<ProvisioningWhat, Source>> = {
  registry: {
    bucket: buckets.registry,
    read: registryKeys.read,
    value: registryEntry,
    moduleOf: (_parts, value) => registryEntry.safeParse(value).data?.module,
  },
  needs: { bucket: buckets.needs, read: needKeys.read, value: need, moduleOf: ({ module }) => module },
  applied: { bucket: buckets.applied, read: appliedKeys.read, value: applied, moduleOf: ({ module }) => module },
  collect: {
    bucket: buckets.collect,
    read: collectKeys.read,
    value: collected,
    // A contributor is a module, or a module and a part of it.
    moduleOf: ({ contributor }) => contributor?.split(':')[0],
  },
};

/** P14. What was asked for, in the order of keys; what is out of shape is said, whatever was asked for. */
export function answerFrom(entries: ReadonlyMap<string, string>, request: Request): Answer {
  const { read, value: schema, moduleOf } = sources[request.what];
  const answer: Answer = { what: request.what, entries: [], faults: [] };
  for (const [key, text] of [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const named = read(key);
    if (named.kind === 'key-fault') {
      answer.faults.push({ key, says: named.says });
      continue;
    }
    const value = jsonOf(text);
    if (value === undefined || !schema.safeParse(value).success) {
      answer.faults.push({ key, says: 'its value is not what belongs in this bucket' });
      continue;
    }
    const { node, collection } = named.parts;
    const wanted =
      (request.node ?? node) === node &&
      (request.collection ?? collection) === collection &&
      (request.module === undefined || request.module === moduleOf(named.parts, value));
    if (wanted) answer.entries.push({ key, parts: withoutAbsent(named.parts), value });
  }
  return answer;
}

const withoutAbsent = (parts: Parts): Record<string, string> =>
  Object.fromEntries(Object.entries(parts).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])));

const json = z.json();

/** Undefined where it is no JSON. */
function jsonOf(text: string): z.output<typeof json> | undefined {
  try {
    return json.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
