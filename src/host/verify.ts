/**
 * What the host checks before it changes anything (D3, D12). A fault here is `refused`: the node is exactly as it was.
 */
import { envelope as envelopeSchema, type Declaration, type Envelope } from '../domain/declaration/declaration.ts';
import type { Capability } from '../domain/report/report.ts';
import type { NodeName } from '../domain/words/names.ts';
import { open, type SealingKey } from '../sealing/box.ts';
import { verifyEnvelope } from '../sealing/envelope.ts';
import { secretFile } from './apply/secret-forms.ts';
import { errorChain } from './fault.ts';
import { liesUnder } from './plan.ts';

/** What a report says of a declaration that is refused. */
export type Refused = {
  readonly kind: 'refused';
  readonly refusal: { readonly kind: string; readonly detail: string };
  /** What the envelope says of itself; absent when what came is no envelope at all. */
  readonly digest?: string;
  readonly number?: number;
  /** Of how many resources it speaks, as far as it could be read. */
  readonly declared: number;
};
export type Verified = { readonly kind: 'verified'; readonly envelope: Envelope; readonly declaration: Declaration };

export type VerifiedBy = {
  readonly node: NodeName;
  /** The public half of the key that signs declarations, as the admission gave it. */
  readonly verifyKey: string;
  readonly sealingKey: SealingKey;
  readonly capabilities: readonly Capability[];
  /** What was accepted last: a lower number is refused, and the same number only stands for the same declaration. */
  readonly accepted: Pick<Envelope, 'number' | 'digest'> | undefined;
};

/** Judges what came as a declaration. It opens every secret to know that it can, and keeps none. */
export function verifyDeclaration(value: unknown, by: VerifiedBy): Verified | Refused {
  const believed = verifyEnvelope(value, { node: by.node, trustedKey: by.verifyKey });
  if (!('envelope' in believed)) return refused(value, believed, 0);
  const { envelope, declaration } = believed;
  const fault =
    numberFault(envelope, by.accepted) ??
    capabilityFault(declaration, by.capabilities) ??
    shapeFault(declaration) ??
    sealingFault(declaration, by.sealingKey);
  return fault === undefined ? { kind: 'verified', ...believed } : refused(value, fault, declaration.resources.length);
}

type Fault = { readonly kind: string; readonly detail: string };

function refused(value: unknown, refusal: Fault, declared: number): Refused {
  const said = envelopeSchema.safeParse(value);
  const about = said.success ? { digest: said.data.digest, number: said.data.number } : {};
  return { kind: 'refused', refusal: { kind: refusal.kind, detail: refusal.detail }, declared, ...about };
}

function numberFault(envelope: Envelope, accepted: VerifiedBy['accepted']): Fault | undefined {
  if (accepted === undefined || envelope.number > accepted.number) return undefined;
  if (envelope.number < accepted.number) {
    return {
      kind: 'lower-number',
      detail: `it has the number ${envelope.number}, and number ${accepted.number} was accepted before`,
    };
  }
  if (envelope.digest === accepted.digest) return undefined;
  return {
    kind: 'number-used-twice',
    detail: `it has the number ${envelope.number}, under which another declaration was accepted`,
  };
}

function capabilityFault(declaration: Declaration, found: readonly Capability[]): Fault | undefined {
  for (const name of declaration.capabilities) {
    const capability = found.find((one) => one.name === name);
    if (capability === undefined)
      return { kind: 'capability-missing', detail: `${name}: this host does not know how to look for it` };
    if (!capability.present) return { kind: 'capability-missing', detail: `${name}: ${capability.reason}` };
  }
  return undefined;
}

/** What one schema cannot say: no place is declared twice, and nothing lies under a file. */
function shapeFault({ resources }: Declaration): Fault | undefined {
  const places = new Set<string>();
  for (const one of resources) {
    const place = one.kind === 'process' ? `process ${one.module}/${one.name}` : one.path;
    const taken = places.has(place) ? place : places.has(one.id) ? one.id : undefined;
    if (taken !== undefined) return { kind: 'not-a-declaration', detail: `${taken} is declared twice` };
    places.add(place).add(one.id);
  }
  for (const file of resources) {
    if (file.kind !== 'file' && file.kind !== 'secret') continue;
    const under = [...places].find((place) => liesUnder(place, file.path));
    if (under !== undefined) return { kind: 'not-a-declaration', detail: `${under} lies under the file ${file.path}` };
  }
  return undefined;
}

function sealingFault({ resources }: Declaration, key: SealingKey): Fault | undefined {
  for (const secret of resources) {
    if (secret.kind !== 'secret') continue;
    if (secret.fingerprint !== key.fingerprint) {
      return {
        kind: 'sealed-to-another-key',
        detail: `${secret.id} is sealed to the key ${secret.fingerprint}, and this node's is ${key.fingerprint}`,
      };
    }
    try {
      open(secret.sealed, key)
        .reveal((bytes) => secretFile(secret.form, bytes, secret.facts))
        .fill(0);
    } catch (error) {
      return { kind: 'cannot-open', detail: `${secret.id}: ${errorChain(error)}` };
    }
  }
  return undefined;
}
