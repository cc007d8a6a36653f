import type { CommandDefinition } from '../../definition.ts';

export const moduleSchema: CommandDefinition = {
  name: 'module schema',
  group: 'modules',
  summary: 'print the JSON Schema of a manifest, for editors',
  examples: [
    'mesh module schema > module.schema.json',
    '# yaml-language-server: $schema=module.schema.json   (the first line of module.yaml)',
  ],
  async run(_given, { printRaw }) {
    const { manifestJsonSchema } = await import('../../../src/domain/manifest/written.ts');
    // A JSON Schema is a document of its own, for programs in either form.
    printRaw(JSON.stringify(manifestJsonSchema(), undefined, 2));
    return undefined;
  },
};
