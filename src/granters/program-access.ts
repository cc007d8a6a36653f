/** Who a provider's program is on the bus, as the host keeps it beside the grants directory (P2). */
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BusCredential } from '../bus/connection.ts';
import { Seed } from '../bus/seed.ts';
import { programInbox } from '../bus/subjects.ts';
import { programAccess, programAccountFile, programSeedFile } from '../domain/declaration/beside-grants.ts';
import type { ModuleName } from '../domain/words/names.ts';
import { readPrivateFile } from '../sealing/key-files.ts';

export type Access = {
  readonly module: ModuleName;
  /** As the server's lists show it: the node and the module. */
  readonly name: string;
  readonly servers: readonly string[];
  readonly credential: BusCredential;
};

/** Tells one state of the two files from another, without reading them; undefined while one of them is not there. */
export function accessMark(folder: string): string | undefined {
  const marks = [programSeedFile, programAccountFile].map((name) => {
    const found = statSync(path.join(folder, name), { bigint: true, throwIfNoEntry: false });
    return found === undefined ? undefined : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
  });
  return marks.includes(undefined) ? undefined : marks.join(', ');
}

/** Throws, without a word of what stands in them, when the files are not what the host keeps there. */
export async function readAccess(folder: string): Promise<Access> {
  const file = path.join(folder, programAccountFile);
  const { node, module, servers, userKey, userJwt } = accessIn(await readFile(file, 'utf8'), file);
  const seed = (await readPrivateFile(path.join(folder, programSeedFile))).reveal((text) => new Seed('user', text));
  if (seed.publicKey !== userKey) throw new Error(`${file} is of another key than the one beside it`);
  const inbox = programInbox(`${node}.${module}`);
  return { module, name: `program ${node}.${module}`, servers, credential: { jwt: userJwt, seed, inbox } };
}

function accessIn(text: string, file: string) {
  try {
    return programAccess.parse(JSON.parse(text));
  } catch {
    // A parser's words may quote what it was given.
    throw new Error(`${file} is not what the host writes there`);
  }
}
