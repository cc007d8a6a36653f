/**
 * The least that rotates: make, seal, stage at both ends (opened and written whole there); the provider grants; commit at both
 * ends; two rows. No lock, no history, no way back after a crash.
 */
import { randomBytes } from 'node:crypto';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { makeSealingKey, open, seal, type SealingKey } from '../../src/sealing/box.ts';
import type { RaisedMesh } from '../raised-mesh.ts';
import type { Ends } from '../ends.ts';
import { subscribeAll } from './nodes.ts';

export type FloorRotation = { rotate(consumers: readonly string[]): Promise<void>; stop(): void };

export async function floorRotation(
  { bus, pg }: Pick<RaisedMesh, 'bus' | 'pg'>,
  provider: string,
  consumers: readonly string[],
  ends: Ends,
): Promise<FloorRotation> {
  await pg.query(
    'create schema if not exists floor; create table if not exists floor.rotations (id bigserial, consumers int, state text)',
  );
  const keys = new Map([provider, ...consumers].map((node): [string, SealingKey] => [node, makeSealingKey()]));
  const keyOf = (node: string): SealingKey => {
    const key = keys.get(node);
    if (key === undefined) throw new Error(`${node} has no key`);
    return key;
  };
  const stop = subscribeAll(bus, 'floor.rotate.*.*', async (subject, message) => {
    const [, , node = '', phase] = subject.split('.');
    const text = Buffer.from(message).toString();
    if (phase === 'stage') {
      open(text, keyOf(node)).reveal((bytes) => bytes.length);
      await ends.hold(1);
    }
    if (phase === 'grant') await ends.grant(Number(text));
    return 'ok';
  });
  const ask = async (node: string, phase: string, data = ''): Promise<void> =>
    void (await bus.nats.request(`floor.rotate.${node}.${phase}`, data, { timeout: 10_000 }));
  return {
    stop,
    async rotate(of) {
      const { rows } = await pg.query<{ id: string }>(
        `insert into floor.rotations (consumers, state) values ($1, 'staging') returning id`,
        [of.length],
      );
      await Promise.all(
        of.map(async (node) => {
          const value = new Plaintext(randomBytes(32).toString('base64url'));
          await Promise.all([node, provider].map((end) => ask(end, 'stage', seal(value, keyOf(end).publicKey).sealed)));
        }),
      );
      await ask(provider, 'grant', String(of.length));
      await Promise.all([provider, ...of].map((node) => ask(node, 'commit')));
      await pg.query(`update floor.rotations set state = 'done' where id = $1`, [rows[0]?.id]);
    },
  };
}
