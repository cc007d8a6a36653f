/** What clients say of postponed modules (P10), read whole: what cannot be read is said, never dropped. */
import { healthKeys } from '../../domain/provisioning/keys.ts';
import { health } from '../../domain/provisioning/values.ts';
import type { z } from 'zod';
import type { healthVerb } from './verbs.ts';

type Answer = z.input<typeof healthVerb.answer>;

/** The entries of a node and of a module where these are given, by key. */
export function healthIn(
  entries: ReadonlyMap<string, string>,
  of: { readonly node?: string | undefined; readonly module?: string | undefined },
): Answer {
  const answer: Answer = { health: [], faults: [] };
  for (const [key, text] of [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const read = healthKeys.read(key);
    if (read.kind === 'key-fault') {
      answer.faults.push({ key, says: read.says });
      continue;
    }
    const { node, module } = read.parts;
    if ((of.node ?? node) !== node || (of.module ?? module) !== module) continue;
    const value = health.safeParse(jsonOf(text));
    if (value.success) answer.health.push({ node, module, ...value.data });
    else answer.faults.push({ key, says: 'its value is not what a client writes there' });
  }
  return answer;
}

/** Undefined where it is no JSON, which no schema takes. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
