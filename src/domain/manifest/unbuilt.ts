import type { Refusal } from '../refusal/refusal.ts';
import type { Manifest } from './manifest.ts';

/** Names what the manifest asks for and this mesh cannot do yet (`not-built-yet`, `placeholder-unfilled`); never ignored. */
export function refuseUnbuilt(_manifest: Manifest): Refusal | undefined {
  throw new Error('not written yet');
}
