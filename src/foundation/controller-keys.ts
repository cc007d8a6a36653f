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
import { privateFolder, storePasswordFiles, writeWhole } from './files.ts';

export type ControllerKeys = { readonly bus: BusIdentity; readonly declarations: DeclarationKey };

const accountsFile = z.strictObject({ system: z.string(), mesh: z.string() });
const signingFile = 'declaration-signing.pem';
const accountsName = 'bus-accounts.json';
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
    await keptOrMade(path.join(folder, signingFile), () => declarationKeyPem(makeDeclarationKey())),
  );
  return { bus: await busIdentityAt(folder), declarations };
}

/** Every file of the controller's secrets, the passwords of its store included (S21). */
export function controllerSecretFiles(stateDir: string): readonly string[] {
  const names = [...Object.values(seedFiles), signingFile, accountsName, ...storePasswordFiles];
  return names.map((name) => path.join(stateDir, 'secrets', name));
}

/** The bus identity of this state folder as it stands, for whoever only looks: nothing is made. Throws `KeyFileFault` where a key is missing or open to others. */
export async function readBusIdentity(stateDir: string): Promise<BusIdentity> {
  const folder = path.join(stateDir, 'secrets');
  const read = async (name: keyof BusSeeds): Promise<string> =>
    textOf(await readPrivateFile(path.join(folder, seedFiles[name])));
  const [operator, accountSigning, systemUser, meshUser] = [
    await read('operator'),
    await read('accountSigning'),
    await read('systemUser'),
    await read('meshUser'),
  ];
  const accounts = accountsFile.parse(JSON.parse(await readFile(path.join(folder, accountsName), 'utf8')));
  return loadBusIdentity({ operator, accountSigning, systemUser, meshUser }, accounts);
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
  const accounts = await accountsAt(path.join(folder, accountsName), made.accounts);
  return loadBusIdentity(
    {
      operator: textOf(operator),
      accountSigning: textOf(accountSigning),
      systemUser: textOf(systemUser),
      meshUser: textOf(meshUser),
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

const textOf = (seed: Plaintext): string => seed.reveal((bytes) => Buffer.from(bytes).toString('utf8'));
const plaintextOf = (seed: Seed): Plaintext => seed.reveal((text) => new Plaintext(text));
