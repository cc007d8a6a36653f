/** What a seat's own process is given: a folder of its own with its key (0600) and who it is on the bus. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { BusCredential } from '../bus/connection.ts';
import { makeSeed, Seed } from '../bus/seed.ts';
import { inboxPrefix } from '../bus/subjects.ts';
import { partName } from '../domain/words/names.ts';
import { KeyFileFault, readPrivateFile, writePrivateFile } from '../sealing/key-files.ts';
import { Plaintext } from '../sealing/plaintext.ts';
import { privateFolder, writeWhole } from './files.ts';

const seedFile = 'bus-user.nk';
const credentialFile = 'bus.json';
const kept = z.strictObject({
  schema: z.literal('mesh.seat-credential'),
  version: z.literal(1),
  seat: partName,
  servers: z.array(z.string()).min(1),
  userJwt: z.string().min(1),
});
export type SeatCredential = Pick<z.infer<typeof kept>, 'seat' | 'userJwt'> & { readonly servers: readonly string[] };

/** The seat's seed, made first where there is none. Safe to repeat, and by two at once. */
export async function seatSeedAt(folder: string): Promise<Seed> {
  const file = path.join(await privateFolder(folder), seedFile);
  try {
    return await readSeed(file);
  } catch (error) {
    if (!(error instanceof KeyFileFault && error.reason === 'missing')) throw error;
  }
  try {
    await makeSeed('user').reveal((text) => writePrivateFile(file, new Plaintext(text)));
  } catch (error) {
    // Another process made it between the two: its key is the key.
    if (!(error instanceof KeyFileFault && error.reason === 'exists')) throw error;
  }
  return readSeed(file);
}

async function readSeed(file: string): Promise<Seed> {
  return (await readPrivateFile(file)).reveal((text) => new Seed('user', text));
}

/** Leaves beside the seed who it is on the bus. Nothing in it is secret. */
export async function keepSeatCredential(folder: string, of: SeatCredential): Promise<void> {
  const text = JSON.stringify(
    kept.parse({ schema: 'mesh.seat-credential', version: 1, ...of, servers: [...of.servers] }),
  );
  await writeWhole(path.join(folder, credentialFile), `${text}\n`, 0o600);
}

/** How a seat's process goes to the bus; undefined where the controller has not yet made its account. */
export async function readSeatCredential(
  folder: string,
): Promise<{ readonly servers: readonly string[]; readonly credential: BusCredential } | undefined> {
  const text = await readFile(path.join(folder, credentialFile), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { seat, servers, userJwt } = kept.parse(JSON.parse(text));
  return {
    servers,
    credential: { jwt: userJwt, seed: await readSeed(path.join(folder, seedFile)), inbox: inboxPrefix(seat) },
  };
}
