/** Whether the bus still has what this client wrote: a bus may come back without what it held, or with what it held before. */
import { canonicalJson } from '../../domain/declaration/canonical.ts';
import type { PassRecord } from '../../domain/provisioning/pass.ts';
import { placeIn } from '../../domain/provisioning/settle.ts';
import { grouped } from '../../domain/words/grouped.ts';
import { z } from 'zod';
import type { World } from './world.ts';

/**
 * The record with every key unsure of which the bus holds something else than was written, so that it is written, or deleted,
 * again. `isCertain`: all of them could be read.
 */
export async function doubted(
  world: World,
  record: PassRecord,
): Promise<{ readonly record: PassRecord; readonly isCertain: boolean }> {
  let isCertain = true;
  const look = async (path: string, text: string | null): Promise<string | null> => {
    if (text === null) return null;
    const { bucket, key } = placeIn(path);
    const found = await world.get(bucket, key, z.unknown());
    if (found.kind === 'fault') isCertain = false;
    if (found.kind === 'found') return canonicalJson(found.value) === text ? text : null;
    return found.kind === 'absent' ? null : text;
  };
  const modules = await Promise.all(
    Object.entries(record.modules).map(async ([module, known]) => {
      const written = Object.entries(known.written).map(async ([path, text]): Promise<[string, string | null]> => [
        path,
        await look(path, text),
      ]);
      return [module, { ...known, written: Object.fromEntries(await Promise.all(written)) }] as const;
    }),
  );
  return { record: { modules: Object.fromEntries(modules) }, isCertain };
}

/**
 * Whether the bus lacks something that was written, by one key of each bucket, another one with each `turn`: a bucket that was emptied
 * while the line to the bus was kept shows at the next pass, for four reads whatever was written (C76). What cannot be asked is not missed.
 */
export async function isMissed(world: World, record: PassRecord, turn: number): Promise<boolean> {
  const written = Object.values(record.modules).flatMap((known) =>
    Object.entries(known.written).flatMap(([path, text]) => (text === null ? [] : [{ ...placeIn(path), text }])),
  );
  const looks = [...grouped(written, ({ bucket }) => bucket).values()].map(async (those) => {
    const one = those[turn % those.length];
    if (one === undefined) return false;
    const found = await world.get(one.bucket, one.key, z.unknown());
    return found.kind === 'absent' || (found.kind === 'found' && canonicalJson(found.value) !== one.text);
  });
  return (await Promise.all(looks)).includes(true);
}
