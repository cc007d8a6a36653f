/**
 * The users of the machine, from its own list. Only root may give files or processes to another user.
 */
import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';

export type Account = { readonly name: string; readonly uid: number; readonly gid: number; readonly home: string };

/** The user that the host runs as. */
export function presentAccount(): Account {
  const { username, uid, gid, homedir } = userInfo();
  return { name: username, uid, gid, home: homedir };
}

/**
 * The user that something is to belong to, or to run as. Absent: the host's own. Throws when the machine has no such
 * user, or when the host is not root and the user is another than its own.
 */
export async function accountOf(name: string | undefined, list = '/etc/passwd'): Promise<Account> {
  const present = presentAccount();
  if (name === undefined || name === present.name) return present;
  if (present.uid !== 0) {
    throw new Error(
      `the user ${name} is asked for, and a host that runs as ${present.name} can only use its own: run the host as root`,
    );
  }
  const account = parseAccounts(await readFile(list, 'utf8')).find((one) => one.name === name);
  if (account === undefined) throw new Error(`the machine has no user named ${name}`);
  return account;
}

function parseAccounts(text: string): readonly Account[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid, , home] = line.split(':');
    if (name === undefined || uid === undefined || gid === undefined || home === undefined) return [];
    return [{ name, uid: Number(uid), gid: Number(gid), home }];
  });
}
