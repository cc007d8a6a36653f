import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { mappingClashes, parseMapping } from '../../../src/domain/manifest/mapping.ts';

const cases = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../cases');
const read = (file: string): string => readFileSync(path.join(cases, file), 'utf8');
const json = <Value>(file: string, schema: z.ZodType<Value>): Value => schema.parse(JSON.parse(read(file)));
const portsOf = (text: string | number) => {
  const parsed = parseMapping(text);
  return parsed.kind === 'mapping' ? parsed.ports : parsed.says;
};

describe('mappings that are taken', () => {
  const { each, either, together } = json(
    'C27-mapping-strings/expected.json',
    z.object({
      each: z.array(z.object({ in: z.string(), out: z.array(z.unknown()) })),
      either: z.array(z.object({ in: z.string() })),
      together: z.array(z.object({ in: z.array(z.string()), must: z.string() })),
    }),
  );
  test.each(each)('[M20] [C27] $in', ({ in: text, out }) => expect(portsOf(text)).toEqual(out));
  test.each(either)('[M20] [C27] $in is refused, where the reader may choose', ({ in: text }) =>
    expect(portsOf(text)).toMatch(
      new RegExp(`^${JSON.stringify(text).replaceAll('[', '\\[')} is not a port mapping: `),
    ),
  );
  test('[C27] an IPv6 address without brackets is answered with the bracketed form', () =>
    expect(portsOf('::1:8080:80')).toContain('[::1]:8080:80'));
  test.each(together)('[M20] [C27] together $in', ({ in: texts, must }) => {
    const ports = texts.flatMap((text) => {
      const parsed = parseMapping(text);
      return parsed.kind === 'mapping' ? parsed.ports : [];
    });
    expect(mappingClashes(ports).length > 0).toBe(must.startsWith('refuse'));
    if (must.includes('8005/tcp')) expect(mappingClashes(ports)).toEqual(['8005/tcp']);
  });
});

describe('mappings that are refused, with the part at fault', () => {
  const refused = json(
    'C28-mapping-strings-to-refuse/expected.json',
    z.array(z.object({ in: z.string(), part: z.string() })),
  );
  test.each(refused)('[M20] [C28] $in: $part', ({ in: text, part }) => {
    const parsed = parseMapping(text);
    // The case's words may go on after the part: with what to say, or with what is left open.
    expect(parsed).toMatchObject({ kind: 'fault', part: part.replace(/: .*/, '') });
    expect(parsed.kind === 'fault' && parsed.says).toContain(JSON.stringify(text));
  });
});

describe('numbers that YAML 1.1 reads in base sixty', () => {
  const expected = json(
    'C29-numbers-read-in-base-sixty/expected.json',
    z.object({
      'manifest.yaml': z.object({ ports: z.array(z.string()) }),
      'manifest.json': z.object({ refuse: z.array(z.number()), container_only: z.array(z.number()) }),
    }),
  );
  test('[M20] [C29] YAML 1.2 leaves a mapping the text it is', () => {
    expect(parseYaml(read('C29-numbers-read-in-base-sixty/manifest.yaml'))).toMatchObject({
      ports: expected['manifest.yaml'].ports,
    });
    for (const text of expected['manifest.yaml'].ports) expect(parseMapping(text).kind).toBe('mapping');
  });
  test('[M20] [C29] a number is the container port alone, or refused with the reason', () => {
    const { refuse, container_only: alone } = expected['manifest.json'];
    for (const number of refuse) expect(portsOf(number)).toContain('base sixty');
    for (const number of alone)
      expect(portsOf(number)).toEqual([{ ip: null, host: null, container: number, proto: 'tcp' }]);
  });
});
