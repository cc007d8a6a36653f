/** Start-up of the command (U7). */
import { alternately, loadNow } from '../measure.ts';
import { meshCommand } from '../raised-mesh.ts';
import { run } from '../run-program.ts';
import type { Row } from '../table.ts';

export async function commandRows(): Promise<readonly Row[]> {
  const { floor, product } = await alternately(
    {
      floor: async () => void (await run(['-e', '0'])),
      product: async () => void (await run([meshCommand, '--help'])),
    },
    { rounds: 21 },
  );
  const target = { says: '≤ 1.5× floor + 60 ms', met: product.p50 <= 1.5 * floor.p50 + 60 };
  return [{ work: 'mesh --help; floor: node -e 0', unit: 'ms', floor, product, target, load: loadNow() }];
}
