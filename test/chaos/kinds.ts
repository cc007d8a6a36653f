/**
 * The kinds of point at which a host or a granter may die (D15), as docs/points.md lists them, and which kind each counted
 * change is. A change that is none of them has its own line as its kind, so that no list ever holds it.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryName } from '../../src/host/whole-file.ts';

/** The kinds that the page lists in the section of this title. */
export function documentedKinds(title: string): ReadonlySet<string> {
  const page = readFileSync(new URL('../../docs/points.md', import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((one) => one.startsWith(`${title}\n`));
  if (section === undefined) throw new Error(`docs/points.md says nothing of ${title}`);
  return new Set([...section.matchAll(/^\| `([a-z/-]+)` \|/gm)].map(([, kind]) => String(kind)));
}

type Rule = readonly [kind: string, line: RegExp];
const kindIn = (rules: readonly Rule[], line: string): string =>
  rules.find(([, is]) => is.test(line))?.[0] ?? `in no list: ${line}`;

/** The kind of a change of a host and its provisioner client. `files`: the names of the declared files and secrets. */
export function hostKinds(files: readonly string[]): (line: string) => string {
  const temporaries = new Map(
    [...files, 'accepted.json', 'applied.json', 'provisioner.json', 'processes/notes.main.json'].map((name) => [
      temporaryName(name),
      path.basename(name),
    ]),
  );
  const oneOf = `(${files.join('|')})`;
  const rules: readonly Rule[] = [
    ['keys/folder', /^mkdir keys$/],
    ...wholeFile('accepted', 'accepted\\.json'),
    ...wholeFile('ledger', 'applied\\.json'),
    ...wholeFile('record', 'provisioner\\.json'),
    ['bus/put', /^put \S+$/],
    ['bus/delete', /^delete \S+$/],
    ...wholeFile('launch', 'notes\\.main\\.json'),
    ...wholeFile('file', oneOf),
    ['file/remove', new RegExp(`^rm ${oneOf}$`)],
    ['directory/make', /^mkdir only-[12]$/],
    ['directory/remove', /^rmdir only-[12]$/],
    ['process/signal', /^kill SIG(TERM|KILL)$/],
    ['process/forget', /^rm notes\.main\.[0-9a-f-]+\.pid$/],
    ['process/unrecord', /^rm notes\.main\.json$/],
    ['launch/log', /^open notes\.main\.log$/],
    ['launch/spawn', /^spawn sh$/],
    ['launch/word', /^writeFile notes\.main\.[0-9a-f-]+\.pid\.forbidden$/],
    ['launch/settle', /^link notes\.main\.[0-9a-f-]+\.pid$/],
    ['launch/clear', /^rm notes\.main\.[0-9a-f-]+\.pid\.forbidden$/],
  ];
  return (line) => {
    const [does, name = ''] = line.split(' ');
    const whole = temporaries.get(name);
    return kindIn(rules, whole === undefined ? line : `${does} temporary of ${whole}`);
  };
}

function wholeFile(thing: string, name: string): readonly Rule[] {
  return [
    [`${thing}/open`, new RegExp(`^open temporary of ${name}$`)],
    [`${thing}/write`, new RegExp(`^writeFile temporary of ${name}$`)],
    [`${thing}/rename`, new RegExp(`^rename ${name}$`)],
  ];
}

const granterRules: readonly Rule[] = [
  ['sql/begin', /^sql begin$/],
  ['sql/commit', /^sql commit$/],
  ['sql/create-role', /^sql create role "[^"]+" nologin noinherit$/],
  ['sql/comment-role', /^sql comment on role /],
  ['sql/mark-role', /^sql grant "mesh_granted_\w+" to "[^"]+" with inherit false, set false, admin false$/],
  ['sql/close-database', /^sql revoke all on database "[^"]+" from public$/],
  ['sql/grant-owner', /^sql grant "[^"]+" to "[^"]+" with inherit false, set true, admin false$/],
  ['sql/no-inherit', /^sql alter role "[^"]+" noinherit$/],
  ['sql/act-as-owner', /^sql alter role "[^"]+" set role = /],
  ['sql/grant-connect', /^sql grant connect on database /],
  ['sql/set-password', /^sql alter role "[^"]+" login password ?$/],
  ['sql/begin-count', /^sql insert into mesh_granter\.logins /],
  ['sql/end-login', /^sql alter role "[^"]+" nologin password null( |$)/],
  ['sql/end-sessions', /^sql select .*pg_terminate_backend/],
  ['sql/hand-over', /^sql reassign owned by /],
  ['sql/drop-owned', /^sql drop owned by /],
  ['sql/drop-role', /^sql drop role /],
  ['status/open', /^openSync grants\.status\.json\.next$/],
  ['status/write', /^writeSync grants\.status\.json\.next$/],
  ['status/rename', /^renameSync grants\.status\.json$/],
];

/** The kind of a granter's change while it rotates. */
export const granterKind = (line: string): string => kindIn(granterRules, line);
