import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { commandTable } from '../../cli/command-table.ts';
import { manualPage } from '../../cli/render/manual.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('one definition a command', () => {
  test('[U5] docs/commands.md says what the definitions say (node scripts/write-manual.mjs writes it)', () => {
    expect(readFileSync(path.join(root, 'docs/commands.md'), 'utf8')).toBe(manualPage(commandTable));
  });

  test('[U5] names are noun and verb or one word, each once, and each has an example that begins with it', () => {
    const names = commandTable.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, examples, summary } of commandTable) {
      expect(name).toMatch(/^[a-z]+(?: [a-z]+)?$/);
      expect(summary).not.toMatch(/\.$|^[A-Z]/);
      expect(
        examples.some(
          (line) => line.startsWith(`mesh ${name}`) || line.includes(`mesh --state`) || line.includes(` ${name}`),
        ),
      ).toBe(true);
    }
  });

  test('[U5] a command that a message says to run next is one that there is', () => {
    const commands = new Set(commandTable.map(({ name }) => name));
    const nouns = new Set(commandTable.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0]] : [])));
    // What these answer cannot arise before the parts are built that these belong to; a manifest that asks for them is refused.
    for (const later of ['build']) commands.add(later);
    const unknown: string[] = [];
    for (const file of sources()) {
      for (const [, noun = '', verb = ''] of readFileSync(path.join(root, file), 'utf8').matchAll(
        /next: \[[^\]]*?[`'"]mesh ([a-z]+)(?: ([a-z]+))?/g,
      )) {
        const named = nouns.has(noun) ? `${noun} ${verb}` : noun;
        if (!commands.has(named)) unknown.push(`${file}: mesh ${named}`);
      }
    }
    expect(unknown).toEqual([]);
  });
});

function sources(): readonly string[] {
  return ['src', 'cli'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => path.join(folder, file)),
  );
}
