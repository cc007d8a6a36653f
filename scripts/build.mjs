// Compiles the TypeScript and bundles the workflows, so that neither the command nor a worker compiles anything at start (U7).
import { spawnSync } from 'node:child_process';
import { existsSync, statSync, readdirSync, renameSync, writeFileSync, rmSync } from 'node:fs';
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

await writeCommands();

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

/** What each command takes and which file runs it, so that the command starts from one file and not from all of them (U7). */
async function writeCommands() {
  const cli = path.join(out, 'cli');
  const file = path.join(cli, 'commands.json');
  const compiledCommands = readdirSync(path.join(cli, 'commands'), { recursive: true })
    .filter((name) => name.endsWith('.js'))
    .map((name) => path.join('commands', name));
  const { commandTable } = await import(path.join(cli, 'command-table.js'));
  const files = new Map();
  for (const name of compiledCommands)
    for (const exported of Object.values(await import(path.join(cli, name)))) files.set(exported, `./${name}`);
  const written = commandTable.map((definition) => ({ ...definition, file: files.get(definition) }));
  const lost = written.filter((one) => one.file === undefined).map(({ name }) => name);
  if (lost.length > 0) throw new Error(`no file in cli/commands exports ${lost.join(', ')}`);
  // Whole or not at all: a command may start meanwhile.
  writeFileSync(`${file}.new`, `${JSON.stringify(written)}\n`);
  renameSync(`${file}.new`, file);
}
