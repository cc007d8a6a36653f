/**
 * The node's own keys: made on it, once, each in a 0600 file of its own; the private halves never leave it (U16).
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { makeSeed, Seed } from '../bus/seed.ts';
import type { SealingKey } from '../sealing/box.ts';
import { KeyFileFault, overlayKeyAt, readPrivateFile, sealingKeyAt, writePrivateFile } from '../sealing/key-files.ts';
import type { OverlayKey } from '../sealing/overlay.ts';
import { Plaintext } from '../sealing/plaintext.ts';
import { statePaths } from './state.ts';

export type NodeKeys = {
  /** Who the node is on the bus. */
  readonly identity: Seed;
  /** Who its provisioner client is there: an account of its own. */
  readonly client: Seed;
  /** What its secrets are sealed to. */
  readonly sealing: SealingKey;
  readonly overlay: OverlayKey;
};

/** The node's keys, made first where they are missing: a join that was interrupted goes on with the same ones. */
export async function keysAt(stateDir: string): Promise<NodeKeys> {
  const folder = path.join(stateDir, statePaths.keys);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    identity: await userSeedAt(identityFile(stateDir)),
    client: await userSeedAt(path.join(folder, 'client.seed')),
    sealing: await sealingKeyAt(path.join(folder, 'sealing.key')),
    overlay: await overlayKeyAt(path.join(folder, 'overlay.key')),
  };
}

const identityFile = (stateDir: string): string => path.join(stateDir, statePaths.keys, 'identity.seed');

/** Who the node is on the bus, for whoever only looks: undefined where it is not there. */
export function readIdentity(stateDir: string): Promise<Seed | undefined> {
  return readUserSeed(identityFile(stateDir));
}

/** The user seed in a file of its own (0600), made first where there is none. Throws `KeyFileFault` where there is something else. */
export async function userSeedAt(file: string): Promise<Seed> {
  const kept = await readUserSeed(file);
  if (kept !== undefined) return kept;
  const made = makeSeed('user');
  try {
    await made.reveal((text) => writePrivateFile(file, new Plaintext(text)));
    return made;
  } catch (error) {
    // Another join made it between the two: its key is the key.
    const others = error instanceof KeyFileFault && error.reason === 'exists' ? await readUserSeed(file) : undefined;
    if (others === undefined) throw error;
    return others;
  }
}

async function readUserSeed(file: string): Promise<Seed | undefined> {
  try {
    return (await readPrivateFile(file)).reveal((text) => new Seed('user', text));
  } catch (error) {
    if (error instanceof KeyFileFault && error.reason === 'missing') return undefined;
    throw error;
  }
}
