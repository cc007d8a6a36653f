/** A host's pass over a node that is as it should be: what it costs each minute, on every machine. */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { loadNow, summaryOf } from '../measure.ts';
import { run } from '../run-program.ts';
import type { Row } from '../table.ts';

const program = fileURLToPath(new URL('../programs/host-pass.mjs', import.meta.url));
const printed = z.object({ floor: z.array(z.number()), product: z.array(z.number()), rssMb: z.number() });

export async function hostRows(): Promise<readonly Row[]> {
  const { floor, product, rssMb } = printed.parse(JSON.parse(await run([program, '20', '5', '40'])));
  const bare = Number(await run(['-e', 'console.log(process.memoryUsage().rss / 1e6)']));
  const load = loadNow();
  return [
    {
      work: 'host: a pass over 20 modules × 5 files, nothing to do',
      unit: 'ms CPU',
      floor: summaryOf(floor),
      product: summaryOf(product),
      load,
    },
    {
      work: 'host: resident memory; floor: bare node',
      unit: 'MB',
      floor: summaryOf([bare]),
      product: summaryOf([rssMb]),
      load,
    },
  ];
}
