import type { Json } from '../answer.ts';
import { recordOf, type EntryBody, type ProvisioningBody } from '../bodies/provisioning.ts';
import type { RegistryResult } from '../../src/domain/act/registry.ts';
import type { Look } from './look.ts';
import { count, table, type Cell } from './table.ts';

/** What a cell says of a value: texts as they are, lists with commas, all else as JSON. */
function textOf(value: Json | undefined): string {
  if (value === undefined) return '-';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return String(value);
  return isTexts(value) ? value.join(', ') : JSON.stringify(value);
}
const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

function entries(
  { entries: rows, faults }: ProvisioningBody,
  columns: readonly (readonly [string, (entry: EntryBody) => Cell])[],
  nothing: string,
  look: Look,
): string {
  const body =
    rows.length === 0
      ? nothing
      : table(
          columns.map(([name]) => name),
          rows.map((row) => columns.map(([, cell]) => cell(row))),
          look,
        );
  const wrong = faults.map(({ key, says }) => look.paint.yellow(`${key}: ${says}`));
  return [body, ...(wrong.length === 0 ? [] : ['', ...wrong])].join('\n');
}
const column = (name: string): readonly [string, (entry: EntryBody) => Cell] => [name, (entry) => textOf(entry[name])];

/** `mesh provisioner registry`. */
export function drawRegistry(body: ProvisioningBody, look: Look): string {
  const where = ({ answer }: EntryBody): string => {
    const { seat, verb, bucket, key } = recordOf(answer);
    return seat === undefined ? `${textOf(bucket)} ${textOf(key)}` : `asked of ${textOf(seat)}.${textOf(verb)}`;
  };
  return entries(
    body,
    [column('kind'), column('module'), ['where its values are', where]],
    'The registry is empty: mesh provisioner compile',
    look,
  );
}

/** `mesh provisioner needs`. */
export function drawNeeds(body: ProvisioningBody, look: Look): string {
  const met = ({ met: is, reason }: EntryBody): Cell =>
    is === true ? 'yes' : { text: textOf(reason ?? 'no'), paint: look.paint.yellow };
  const columns = [column('node'), column('module'), column('kind'), column('name'), column('files')];
  return entries(body, [...columns, ['met', met]], 'Nothing is needed.', look);
}

/** `mesh provisioner applied`. */
export function drawApplied(body: ProvisioningBody, look: Look): string {
  const columns = ['node', 'module', 'version', 'at', 'generations'].map(column);
  return entries(body, columns, 'Nothing is applied yet.', look);
}

/** `mesh provisioner collect`. */
export function drawCollect(body: ProvisioningBody, look: Look): string {
  return entries(body, ['node', 'collection', 'contributor', 'item'].map(column), 'Nothing is collected.', look);
}

/** `mesh provisioner health`. */
export function drawHealth(body: ProvisioningBody, look: Look): string {
  const columns = ['node', 'module', 'since', 'passes', 'build', 'reason'].map(column);
  return entries(body, columns, 'No module is postponed.', look);
}

/** `mesh provisioner compile`. */
export function drawCompiled({ kinds, written, deleted, refused, unreadable }: RegistryResult, look: Look): string {
  const said = `${count(kinds, 'kind')} answered; ${written + deleted === 0 ? 'nothing changed' : `${written} written, ${deleted} deleted`}.`;
  return [
    refused.length === 0 ? look.paint.green(said) : said,
    ...refused.map(({ what }) => look.paint.yellow(`Refused: ${what}`)),
    ...unreadable.map((key) => look.paint.yellow(`Cannot be read: the composition of ${key}`)),
  ].join('\n');
}

export type VerbsBody = {
  readonly seat: string;
  readonly verbs: readonly { readonly verb: string; readonly says: string }[];
};

/** `mesh ask SEAT`. */
export function drawVerbs({ seat, verbs }: VerbsBody, look: Look): string {
  return table(
    ['verb', 'what it answers'],
    verbs.map(({ verb, says }) => [`${seat}.${verb}`, says]),
    look,
  );
}

/** `mesh ask SEAT.VERB`. */
export function drawAsked({ answer }: { readonly answer?: Json }): string {
  return JSON.stringify(answer ?? {}, null, 2);
}
