import { describe, expect, test } from '@jest/globals';

import { lookOn } from '../../cli/render/look.ts';
import { rfc3339, time } from '../../cli/render/time.ts';
import { parseDuration } from '../../cli/duration.ts';
import { nearest } from '../../cli/nearest.ts';

describe('how answers look', () => {
  const at = '2026-01-02T03:04:05.000Z';
  const onTerminal = (nowMs: number) => lookOn({ isTTY: true, columns: 80 }, {}, true, nowMs);

  test('[U6] times are relative on a terminal and RFC 3339 UTC elsewhere', () => {
    expect(time(at, onTerminal(Date.parse(at) + 200))).toBe('just now');
    expect(time(at, onTerminal(Date.parse(at) + 42_000))).toBe('42s ago');
    expect(time(at, onTerminal(Date.parse(at) + 3 * 3_600_000 + 5))).toBe('3h ago');
    expect(time(at, onTerminal(Date.parse(at) - 600_000))).toBe('in 10m');
    expect(time(at, lookOn({ isTTY: false }, {}, true, Date.parse(at) + 42_000))).toBe(at);
    expect(rfc3339(Date.parse(at))).toBe(at);
  });

  test('[U2] durations are a number and a unit, and nothing else', () => {
    expect(['500ms', '90s', '10m', '2h', '1d'].map(parseDuration)).toEqual([
      500, 90_000, 600_000, 7_200_000, 86_400_000,
    ]);
    expect(['', '10', 'm', '-1s', '1.5h', '1 m', '1w', '9'.repeat(12) + 's'].map(parseDuration)).toEqual(
      Array(8).fill(undefined),
    );
  });

  test('[U1] the nearest word is a slip of the hand away, or there is none', () => {
    const known = ['status', 'secret', 'assign', 'unassign', 'push'];
    expect(['staus', 'sttaus', 'asign', 'psuh', 'unasign'].map((word) => nearest(word, known))).toEqual([
      'status',
      'status',
      'assign',
      'push',
      'unassign',
    ]);
    expect(nearest('xyzzy', known)).toBeUndefined();
  });
});
