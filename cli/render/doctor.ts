import { parts, type Finding, type Standing } from '../../src/domain/doctor/finding.ts';
import type { Look } from './look.ts';
import { count, indent, table } from './table.ts';

export type DoctorBody = {
  readonly well: boolean;
  readonly findings: readonly Finding[];
  readonly settings: readonly { readonly name: string; readonly value: string; readonly from: string }[];
};

/** `mesh doctor`: what was found, by what it is part of, with the next command under each that is wrong; then the settings. */
export function drawDoctor({ well, findings, settings }: DoctorBody, look: Look): string {
  const { paint } = look;
  const sections = parts.flatMap((part) => {
    const found = findings.filter((finding) => finding.part === part);
    return found.length === 0 ? [] : [`${paint.bold(part)}\n${indent(drawFindings(found, look))}`];
  });
  const rows = settings.map(({ name, value, from }) => [name, value, { text: from, paint: paint.dim }]);
  const wrong = findings.filter(({ is }) => is === 'wrong').length;
  return [
    ...sections,
    `${paint.bold('settings')}\n${indent(table(['setting', 'value', 'from'], rows, look))}`,
    well ? paint.green('Nothing is wrong.') : paint.red(`${count(wrong, 'thing is', 'things are')} wrong.`),
  ].join('\n\n');
}

function drawFindings(findings: readonly Finding[], look: Look): string {
  const paints: Readonly<Record<Standing, (text: string) => string>> = {
    ok: look.paint.green,
    wrong: look.paint.red,
    unknown: look.paint.yellow,
  };
  const rows = findings.map(({ is, of, says, where }) => [
    { text: is, paint: paints[is] },
    of,
    where === undefined ? says : `${says} ${look.paint.dim(`(${where})`)}`,
  ]);
  const [head = '', ...lines] = table(['is', 'what', 'found'], rows, look).split('\n');
  const withNext = lines.flatMap((line, at) => [
    line,
    ...(findings[at]?.next ?? []).map((next) => indent(`next: ${look.paint.cyan(next)}`, 9)),
  ]);
  return [head, ...withNext].join('\n');
}
