import type { Json } from '../answer.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { count, facts, table } from './table.ts';
import { time } from './time.ts';

export type CheckedBody = {
  /** Whether they were judged together, as a catalogue. */
  readonly whole: boolean;
  readonly modules: readonly { readonly module: string; readonly version: string; readonly folder: string }[];
};

/** `mesh module check` when nothing is wrong. */
export function drawChecked({ whole, modules }: CheckedBody, look: Look): string {
  const rows = modules.map(({ module, version, folder }) => [module, version, folder]);
  const alone = whole ? '' : '; whether anything provides what it requires was not judged';
  return `${table(['module', 'version', 'folder'], rows, look)}\n\n${look.paint.green('good')}: ${count(modules.length, 'module')} can be added${alone}`;
}

type Added = { readonly module: string; readonly version: string; readonly digest: string; readonly change: string };

/** `mesh module add`. */
export function drawAdded({ modules }: { readonly modules: readonly Added[] }, look: Look): string {
  const said: Readonly<Record<string, string>> = {
    added: 'is added',
    changed: 'is changed',
    same: 'is there already, just so',
  };
  const lines = modules.map(
    ({ module, version, change }) => `${look.paint.bold(module)} ${version} ${said[change] ?? change}.`,
  );
  const changed = modules.some(({ change }) => change === 'changed');
  const first = modules[0]?.module ?? 'MODULE';
  return [...lines, ...nextLines(changed ? ['mesh plan', 'mesh push'] : [`mesh assign NODE ${first}`], look)].join(
    '\n',
  );
}

/** `mesh module list`. */
export function drawModules(
  {
    modules,
  }: { readonly modules: readonly { readonly module: string; readonly version: string; readonly addedAt: string }[] },
  look: Look,
): string {
  if (modules.length === 0) return ['The catalogue is empty.', ...nextLines(['mesh module add DIR'], look)].join('\n');
  return table(
    ['module', 'version', 'added'],
    modules.map(({ module, version, addedAt }) => [module, version, time(addedAt, look)]),
    look,
  );
}

/** `mesh module show`: the manifest as JSON, which it also reads as. */
export function drawModule(
  of: {
    readonly module: string;
    readonly version: string;
    readonly digest: string;
    readonly addedAt: string;
    readonly files: readonly string[];
    readonly manifest: Json;
  },
  look: Look,
): string {
  return [
    facts(
      [
        ['module', { text: of.module, paint: look.paint.bold }],
        ['version', of.version],
        ['digest', of.digest],
        ['added', time(of.addedAt, look)],
        ['files', of.files.length === 0 ? undefined : of.files.join(', ')],
      ],
      look,
    ),
    JSON.stringify(of.manifest, undefined, 2),
  ].join('\n\n');
}
