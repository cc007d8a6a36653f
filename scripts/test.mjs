// Runs jest with the flag that its ES module support needs; arguments go through: npm test -- -t '\[S12\]'
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const run = spawnSync(
  process.execPath,
  ['--experimental-vm-modules', '--no-warnings', path.join(root, 'node_modules/jest/bin/jest.js'), ...process.argv.slice(2)],
  { stdio: 'inherit', cwd: root },
);
process.exit(run.status ?? 1);
