import { z } from 'zod';
import type { BusCredentialRows } from '../../operations/ports/bus-credential-rows.ts';
import type { Query } from '../query.ts';

const busCredentialRow = z.object({
  kind: z.enum(['node', 'client', 'token', 'program', 'seat']),
  name: z.string(),
  accountKey: z.string(),
  userKey: z.string(),
  userJwt: z.string(),
  createdAt: z.date(),
  pushedAt: z.date().exactOptional(),
  revokedAt: z.date().exactOptional(),
});
const columns = `kind, name, account_key as "accountKey", user_key as "userKey",
  user_jwt as "userJwt", created_at as "createdAt", pushed_at as "pushedAt", revoked_at as "revokedAt"`;

export function busCredentialRows(query: Query): BusCredentialRows {
  return {
    insertBusCredential: async ({ kind, name, accountKey, userKey, userJwt }) =>
      (await query.run(
        `insert into mesh.bus_credentials (kind, name, account_key, user_key, user_jwt)
         values ($1, $2, $3, $4, $5)
         on conflict (kind, name) where revoked_at is null do nothing`,
        [kind, name, accountKey, userKey, userJwt],
      )) === 1,
    liveBusCredential: (kind, name) =>
      query.first(
        busCredentialRow,
        `select ${columns} from mesh.bus_credentials where kind = $1 and name = $2 and revoked_at is null`,
        [kind, name],
      ),
    liveBusCredentials: () =>
      query.rows(
        busCredentialRow,
        `select ${columns} from mesh.bus_credentials where revoked_at is null order by kind, name`,
      ),
    setBusCredentialPushed: async (accountKey) =>
      (await query.run(
        `update mesh.bus_credentials set pushed_at = coalesce(pushed_at, now())
          where account_key = $1 and revoked_at is null`,
        [accountKey],
      )) === 1,
    setBusCredentialRevoked: (accountKey) =>
      query.first(
        busCredentialRow,
        `update mesh.bus_credentials set revoked_at = now()
          where account_key = $1 and revoked_at is null
          returning ${columns}`,
        [accountKey],
      ),
  };
}
