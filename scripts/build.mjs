// Compiles the TypeScript and bundles the workflows, so that neither the command nor a worker compiles anything at start (U7).
import { spawnSync } from 'node:child_process';
import { existsSync, statSync, readdirSync, writeFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const out = path.join(root, 'dist');

// A file that was moved or deleted would live on in dist: when the list of sources changed, start from nothing.
const sources = ['src', 'cli'].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))),
);
const stale = existsSync(out)
  ? readdirSync(out, { recursive: true })
      .filter((name) => name.endsWith('.js') && name !== 'workflow-bundle.js')
      .some((name) => !sources.includes(name.replace(/\.js$/, '.ts')))
  : false;
if (stale) rmSync(out, { recursive: true });

const compiled = spawnSync(
  process.execPath,
  [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', path.join(root, 'tsconfig.build.json')],
  { stdio: 'inherit' },
);
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

const entry = path.join(out, 'src/workflows/index.js');
const bundleFile = path.join(out, 'workflow-bundle.js');
if (existsSync(entry)) {
  const inputs = ['src/workflows', 'src/domain', 'src/activities'].flatMap((folder) =>
    existsSync(path.join(out, folder))
      ? readdirSync(path.join(out, folder), { recursive: true })
          .filter((name) => name.endsWith('.js'))
          .map((name) => statSync(path.join(out, folder, name)).mtimeMs)
      : [],
  );
  if (!existsSync(bundleFile) || statSync(bundleFile).mtimeMs < Math.max(...inputs)) {
    const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
    const { code } = await bundleWorkflowCode({ workflowsPath: entry, logger: new DefaultLogger('ERROR') });
    writeFileSync(bundleFile, code);
  }
}
