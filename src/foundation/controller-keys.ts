/**
 * The controller's own keys, each in a 0600 file of the state folder, made once (S21): the bus's seeds, and the key
 * that signs declarations. What can be public of them is worked out from them.
 */
import path from 'node:path';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { loadBusIdentity, newBusIdentity, type BusAccounts, type BusIdentity, type BusSeeds } from '../bus/identity.ts';
import type { Seed } from '../bus/seed.ts';
import { KeyFileFault, readPrivateFile, writePrivateFile } from '../sealing/key-files.ts';
import { Plaintext } from '../sealing/plaintext.ts';
import { declarationKeyPem, loadDeclarationKey, makeDeclarationKey, type DeclarationKey } from '../sealing/signing.ts';
import { privateFolder, writeWhole } from './files.ts';

export type ControllerKeys = { readonly bus: BusIdentity; readonly declarations: DeclarationKey };

const accountsFile = z.strictObject({ system: z.string(), mesh: z.string() });
const seedFiles: Readonly<Record<keyof BusSeeds, string>> = {
  operator: 'bus-operator.nk',
  accountSigning: 'bus-account-signing.nk',
  systemUser: 'bus-system-user.nk',
  meshUser: 'bus-mesh-user.nk',
};

/** The keys of this state folder, made first where there are none: safe to repeat, and after being cut off anywhere. */
export async function controllerKeysAt(stateDir: string): Promise<ControllerKeys> {
  const folder = await privateFolder(path.join(stateDir, 'secrets'));
  const declarations = loadDeclarationKey(
    await keptOrMade(path.join(folder, 'declaration-signing.pem'), () => declarationKeyPem(makeDeclarationKey())),
  );
  return { bus: await busIdentityAt(folder), declarations };
}

async function busIdentityAt(folder: string): Promise<BusIdentity> {
  const made = newBusIdentity();
  const keep = (name: keyof BusSeeds): Promise<Plaintext> =>
    keptOrMade(path.join(folder, seedFiles[name]), () => plaintextOf(made.seeds[name]));
  const [operator, accountSigning, systemUser, meshUser] = [
    await keep('operator'),
    await keep('accountSigning'),
    await keep('systemUser'),
    await keep('meshUser'),
  ];
  // Written last: the two public keys name accounts that only these seeds can sign for.
  const accounts = await accountsAt(path.join(folder, 'bus-accounts.json'), made.accounts);
  const text = (seed: Plaintext): string => seed.reveal((bytes) => Buffer.from(bytes).toString('utf8'));
  return loadBusIdentity(
    {
      operator: text(operator),
      accountSigning: text(accountSigning),
      systemUser: text(systemUser),
      meshUser: text(meshUser),
    },
    accounts,
  );
}

async function accountsAt(file: string, made: BusAccounts): Promise<BusAccounts> {
  const read = await readFile(file, 'utf8').catch(() => undefined);
  if (read !== undefined) return accountsFile.parse(JSON.parse(read));
  await writeWhole(file, `${JSON.stringify(made)}\n`, 0o600);
  return made;
}

async function keptOrMade(file: string, make: () => Plaintext): Promise<Plaintext> {
  try {
    return await readPrivateFile(file);
  } catch (error) {
    if (!(error instanceof KeyFileFault && error.reason === 'missing')) throw error;
  }
  await writePrivateFile(file, make());
  return readPrivateFile(file);
}

const plaintextOf = (seed: Seed): Plaintext => seed.reveal((text) => new Plaintext(text));
