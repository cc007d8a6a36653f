import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';

import { problemKinds } from '../../cli/problem.ts';
import { refusalKinds } from '../../src/domain/refusal/refusal.ts';

test('[U5] docs/refusals.md lists every kind with its exit code, and no other', () => {
  const page = readFileSync(new URL('../../docs/refusals.md', import.meta.url), 'utf8');
  const sections = page.split(/^### /m).slice(1);
  const documented = sections.map((section) => {
    const [, kind, code] = /^`([a-z-]+)` \((\d+)\)\n/.exec(section) ?? [];
    return { kind, code: Number(code), complete: /\n- Example: \S/.test(section) && /\n- Do: \S/.test(section) };
  });
  const inCode = Object.entries({ ...refusalKinds, ...problemKinds }).map(([kind, code]) => ({
    kind,
    code,
    complete: true,
  }));
  const byKind = (a: { kind?: string | undefined }, b: { kind?: string | undefined }): number =>
    String(a.kind) < String(b.kind) ? -1 : 1;
  expect(documented.toSorted(byKind)).toEqual(inCode.toSorted(byKind));
});
