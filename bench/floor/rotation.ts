/**
 * The least that rotates: make, seal, stage at both ends (opened and written whole there); the provider grants; commit at both
 * ends; two rows. No lock, no history, no way back after a crash.
 */
import { randomBytes } from 'node:crypto';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { seal } from '../../src/sealing/box.ts';
import type { RaisedMesh } from '../raised-mesh.ts';
import { floorKeySubject, floorRotateSubject } from './nodes.ts';

export type FloorRotation = { rotate(consumers: readonly string[]): Promise<void> };

export async function floorRotation(
  { bus, pg }: Pick<RaisedMesh, 'bus' | 'pg'>,
  provider: string,
  consumers: readonly string[],
): Promise<FloorRotation> {
  await pg.query(
    'create schema if not exists floor; create table if not exists floor.rotations (id bigserial, consumers int, state text)',
  );
  const askAt = (subject: string, data = '') => bus.nats.request(subject, data, { timeout: 10_000 });
  const keys = new Map<string, string>();
  for (const node of [provider, ...consumers]) keys.set(node, (await askAt(floorKeySubject(node))).string());
  const ask = async (node: string, phase: 'stage' | 'grant' | 'commit', data = ''): Promise<void> =>
    void (await askAt(floorRotateSubject(node, phase), data));
  const keyOf = (node: string): string => {
    const key = keys.get(node);
    if (key === undefined) throw new Error(`${node} has no key`);
    return key;
  };
  return {
    async rotate(of) {
      const { rows } = await pg.query<{ id: string }>(
        `insert into floor.rotations (consumers, state) values ($1, 'staging') returning id`,
        [of.length],
      );
      await Promise.all(
        of.map(async (node) => {
          const value = new Plaintext(randomBytes(32).toString('base64url'));
          await Promise.all([node, provider].map((end) => ask(end, 'stage', seal(value, keyOf(end)).sealed)));
        }),
      );
      await ask(provider, 'grant', String(of.length));
      await Promise.all([provider, ...of].map((node) => ask(node, 'commit')));
      await pg.query(`update floor.rotations set state = 'done' where id = $1`, [rows[0]?.id]);
    },
  };
}
