/**
 * Credentials: who they are between, which generation, in which stage (S1, S11). No type in this folder holds a
 * value: sealed blobs and the fingerprints of the keys that open them are all the mesh keeps.
 *
 * | stage     | the provider grants it | the consumer's file holds it |
 * | --------- | ---------------------- | ---------------------------- |
 * | arriving  | yes                    | not yet                      |
 * | current   | yes                    | yes                          |
 * | leaving   | yes                    | no longer                    |
 * | withdrawn | no                     | no                           |
 */
import { z } from 'zod';
import { localName, moduleName, nodeName, partName, provisionName } from '../words/names.ts';

/** S1. One credential between one consumer (and local) and one provider. */
export const pairKey = z.strictObject({
  provision: provisionName,
  providerNode: nodeName,
  providerModule: moduleName,
  consumerNode: nodeName,
  consumerModule: moduleName,
  local: localName.optional(),
});
export type PairKey = z.infer<typeof pairKey>;

/** S10. A secret that a module holds for itself on one node. */
export const ownKey = z.strictObject({ node: nodeName, module: moduleName, name: partName });
export type OwnKey = z.infer<typeof ownKey>;

export const stage = z.enum(['arriving', 'current', 'leaving', 'withdrawn']);
export type Stage = z.infer<typeof stage>;
export const origin = z.enum(['made', 'accepted']);

/** A blob sealed to one public key, and that key's fingerprint: kept together, so that it can be told who opens it (S2). */
export const sealedCopy = z.strictObject({ sealed: z.base64(), fingerprint: z.string() });
export type SealedCopy = z.infer<typeof sealedCopy>;

export const pairSecret = z.strictObject({
  key: pairKey,
  generation: z.int().positive(),
  stage,
  origin,
  consumer: sealedCopy,
  provider: sealedCopy,
});
export type PairSecret = z.infer<typeof pairSecret>;

export const ownSecret = z.strictObject({ key: ownKey, origin, node: sealedCopy });
export type OwnSecret = z.infer<typeof ownSecret>;

/** The credential's path, as acts, locks, events and messages name it; reads back to exactly one key. */
export function pairPath(key: PairKey): string {
  const local = key.local === undefined ? '' : `/${key.local}`;
  return `${key.providerNode}/${key.provision}/${key.consumerNode}/${key.consumerModule}${local}`;
}
export function ownPath(key: OwnKey): string {
  return `${key.node}/${key.module}/${key.name}`;
}
