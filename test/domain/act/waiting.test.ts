import { describe, expect, test } from '@jest/globals';
import { grantable, waitsForGrant, waitsForNode } from '../../../src/domain/act/waiting.ts';
import type { Report } from '../../../src/domain/report/report.ts';
import { moduleName, nodeName, provisionName } from '../../../src/domain/words/names.ts';

const beta = nodeName.parse('beta');
const sent = { digest: 'sha256:new', number: 7 };
const said = (outcome: Report['outcome'], failures: Report['failures'] = [], about = sent) => ({
  ...about,
  outcome,
  failures,
});
const title = {
  resource: 'notes/file//etc/notes/title',
  error: '${config:title}: mesh-controller_settings has no beta.notes.title for it',
  waits: true,
} as const;

describe('what a node is waited for', () => {
  test('[A1.4] [P12] a value that is still to come is named: the file, the placeholder and why', () => {
    expect(waitsForNode(beta, sent, said('failed', [title]))).toBe(
      'beta to have what notes/file//etc/notes/title is filled with: ${config:title}: mesh-controller_settings has no beta.notes.title for it',
    );
    const leaning = { resource: 'notes/process/notes', error: 'not started: …', waits: true } as const;
    expect(waitsForNode(beta, sent, said('failed', [title, leaning]))).toMatch(
      / for it \(and 1 more that wait there\)$/,
    );
  });

  test('[D20] [D23] the reason of another declaration is not said of this one', () => {
    const other = { digest: 'sha256:old', number: 6 };
    const again = { digest: sent.digest, number: 5 };
    for (const about of [other, again])
      expect(waitsForNode(beta, sent, said('failed', [title], about))).toBe('beta to report what it was sent');
    expect(waitsForNode(beta, sent, undefined)).toBe('beta to report what it was sent');
    expect(waitsForNode(beta, undefined, said('idle'))).toBe('beta to report what it was sent');
  });

  test('[D16] what failed beside it is a failure, and what was applied is waited for no more', () => {
    const broken = { resource: 'notes/file//etc/other', error: 'no space left' };
    expect(waitsForNode(beta, sent, said('failed', [title, broken]))).toBe(
      'beta to apply it: its last report says failed',
    );
    expect(waitsForNode(beta, sent, said('refused'))).toBe('beta to apply it: its last report says refused');
    expect(waitsForNode(beta, sent, said('failed'))).toBe('beta to apply it: its last report says failed');
    expect(waitsForNode(beta, sent, said('applied'))).toBeUndefined();
  });

  test('[A11] however long the words of a node are, an act notes little of them', () => {
    const long = { ...title, error: 'x'.repeat(10_000) };
    expect(waitsForNode(beta, sent, said('failed', [long]))?.length).toBeLessThan(500);
  });
});

describe('what may still be granted', () => {
  const [alpha, notes] = [nodeName.parse('alpha'), moduleName.parse('notes')];
  const key = {
    provision: provisionName.parse('postgres-database'),
    providerNode: alpha,
    providerModule: moduleName.parse('postgres'),
    consumerNode: beta,
    consumerModule: notes,
  };
  const wanted = [
    { key, generation: 7 },
    { key, generation: 8 },
  ];
  const entry = (generation: number, refused: boolean) => ({
    provider: alpha,
    node: beta,
    module: notes,
    generation,
    state: 'fault' as const,
    seen: 0,
    sessionsEnded: 0,
    fault: 'must contain a digit',
    ...(refused ? { valueRefused: true as const } : {}),
  });

  test('[C34] a value of before that the server refuses as well is not waited for, anything else that is in its way is', () => {
    const entries = [entry(7, true), entry(8, false)];
    expect(grantable(entries, wanted).map(({ generation }) => generation)).toEqual([8]);
    expect(waitsForGrant(entries, grantable(entries, wanted))).toHaveLength(1);
    expect(grantable([], wanted)).toEqual(wanted);
  });
});
