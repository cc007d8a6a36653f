import type { Unbegun, Waiting } from '../acts/unbegun.ts';
import { tryingInWords } from '../bodies/trying.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { indent } from './table.ts';
import { time } from './time.ts';

/** Acts that have not begun, and what is in their way; nothing where there are none. One block of text each. */
export function unbegunBlocks({ unbegun = [], unbegunUnknown, store }: Waiting, look: Look): readonly string[] {
  const { paint } = look;
  if (unbegunUnknown !== undefined) {
    const says = paint.red(`Which acts have not begun cannot be told: ${unbegunUnknown}`);
    return [[says, ...nextLines(['mesh doctor'], look)].join('\n')];
  }
  if (unbegun.length === 0) return [];
  const lines = unbegun.map((one) => unbegunLine(one, look));
  const listed = `${paint.bold('asked for, and not begun')}\n${indent(lines.join('\n'))}`;
  if (store !== undefined)
    return [[paint.red(store.what), store.why, ...nextLines(store.next, look)].join('\n'), listed];
  const isNobody = unbegun.some(({ trying }) => trying === undefined);
  return [[listed, ...(isNobody ? nextLines(['mesh work controller'], look) : [])].join('\n')];
}

function unbegunLine({ workflowId, askedAt, trying }: Unbegun, look: Look): string {
  const why = trying === undefined ? 'no controller has taken it up' : tryingInWords(trying);
  return `${workflowId}, ${time(askedAt, look)}: ${look.paint.yellow(why)}`;
}
