/**
 * A provider's node and a consumer's, played as real ones behave: each applies what it is told, the granter grants what
 * its list says and has seen a consumer with what that holds. A witness looks at both after every change: what the consumer
 * holds has to be granted at every moment (S11).
 */
import type { Grant } from '../../src/domain/declaration/declaration.ts';
import { open, type SealingKey } from '../../src/sealing/box.ts';
import { entryFor, grantersOf, grantsIn, secretsIn, type PlayedNode, type Told } from '../acts/played-node.ts';

export type PlayedPair = {
  readonly provider: PlayedNode;
  readonly consumer: PlayedNode;
  /** What was wrong at some moment, in words. */
  readonly faults: readonly string[];
  /** The values that the provider grants now, by generation. */
  readonly granted: () => ReadonlyMap<number, string>;
  /** The value that the consumer holds now. */
  readonly held: () => string | undefined;
  /** Distinct declarations that each end was told, by number. */
  readonly told: { readonly provider: ReadonlySet<number>; readonly consumer: ReadonlySet<number> };
  /** It neither applies nor reports until then; what its provider is told afterwards waits as well. */
  keepConsumerSilent(until: Promise<void>): void;
  stop(): Promise<void>;
};

/** Plays until `stop`. `overlaps`: whether the witness insists on a login that works at every moment. */
export function playPair(
  { provider, consumer }: { readonly provider: PlayedNode; readonly consumer: PlayedNode },
  { module, overlaps }: { readonly module: string; readonly overlaps: boolean },
): PlayedPair {
  const faults: string[] = [];
  let granted = new Map<number, string>();
  let held: string | undefined;
  let hasWorked = false;
  const told = { provider: new Set<number>(), consumer: new Set<number>() };
  const witness = (when: string): void => {
    const works = held !== undefined && [...granted.values()].includes(held);
    // A first credential is handed to both ends at once: only what worked can be broken.
    hasWorked ||= works;
    if (overlaps && hasWorked && !works)
      faults.push(`after ${when} the consumer held what was not granted: ${[...granted.keys()].join(', ')} was`);
  };

  const applyProvider = async (): Promise<void> => {
    const now = await provider.told();
    if (now === undefined) return provider.report();
    granted = grantedIn(now, module, provider.key);
    if (!told.provider.has(now.number)) witness(`the provider applied ${now.number}`);
    told.provider.add(now.number);
    const seen = (grant: Grant) =>
      entryFor(grant, { seen: granted.get(grant.generation) === held && held !== undefined ? 1 : 0 });
    await provider.report({ granters: grantersOf(now.declaration, (grants) => grants.map(seen)) });
  };
  const applyConsumer = async (): Promise<void> => {
    const now = await consumer.told();
    const file = now === undefined ? undefined : secretsIn(now.declaration).find((one) => one.module === module);
    held = file === undefined ? undefined : open(file.sealed, consumer.key).reveal(textOf);
    if (now !== undefined) {
      if (!told.consumer.has(now.number)) witness(`the consumer applied ${now.number}`);
      told.consumer.add(now.number);
    }
    await consumer.report();
  };

  let busy = Promise.resolve();
  let silentUntil: Promise<void> | undefined;
  const then = (does: () => Promise<void>): void => {
    busy = busy.then(does).catch((error: unknown) => void faults.push(String(error)));
  };
  const look = {
    provider: (): void => then(applyProvider),
    // The provider sees the consumer connect with what it holds now, and says so.
    consumer: (): void =>
      then(async () => {
        await silentUntil;
        await applyConsumer();
        await applyProvider();
      }),
  };
  const stops = [provider.onChanged(look.provider), consumer.onChanged(look.consumer)];
  look.consumer();
  return {
    provider,
    consumer,
    faults,
    granted: () => granted,
    held: () => held,
    keepConsumerSilent: (until) => {
      silentUntil = until;
    },
    told,
    async stop() {
      for (const stop of stops) stop();
      await busy;
    },
  };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

function grantedIn(told: Told, module: string, key: SealingKey): Map<number, string> {
  const secrets = secretsIn(told.declaration);
  const values = new Map<number, string>();
  for (const { grants } of grantsIn(told.declaration))
    for (const grant of grants) {
      if (grant.module !== module) continue;
      const secret = secrets.find((one) => one.path.endsWith(`/${grant.file}`));
      if (secret === undefined) throw new Error(`no file for generation ${grant.generation}`);
      values.set(grant.generation, open(secret.sealed, key).reveal(textOf));
    }
  return values;
}
