/** From the text of a manifest to its value, with the line of each path inside it. */
import { isNode, LineCounter, parseDocument, type Document } from 'yaml';

import type { Refusal } from '../src/domain/refusal/refusal.ts';

export type ManifestText = {
  readonly value: unknown;
  /** The line of a path like `resources[2].path`; of its nearest parent that is written, when it is not. */
  readonly lineOf: (path: string) => number | undefined;
};

/** A manifest is far below this; more is a wrong file. */
const limitBytes = 1024 * 1024;

/** Reads YAML 1.2 (core schema), or JSON when the file is called so. Refusal: `manifest-unreadable`, with every line that is wrong. */
export function parseManifestText(bytes: Buffer, file: string): ManifestText | Refusal {
  if (bytes.length > limitBytes)
    return unreadable(file, [`${file} has ${bytes.length} bytes, and ${limitBytes} is the most`]);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) return unreadable(file, [`${file} is not UTF-8 text`]);
  const isJson = file.endsWith('.json');
  if (isJson) {
    const wrong = whatIsWrongAsJson(text);
    if (wrong !== undefined) return unreadable(file, [`${file}: ${wrong}`]);
  }
  const lines = new LineCounter();
  // A duplicate key or an unknown tag is an error, never a silent choice; every JSON text is YAML, so both are told in one way.
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const faults = [...document.errors, ...document.warnings].map((fault) => {
    const { line, col } = lines.linePos(fault.pos[0]);
    return `${file}:${line}:${col}: ${fault.message}`;
  });
  if (faults.length > 0) return unreadable(file, faults);
  try {
    return { value: document.toJS({ maxAliasCount: 50 }), lineOf: (path) => lineOf(document, lines, path) };
  } catch (error) {
    // More aliases than any manifest needs: a text that grows without bounds when it is read.
    return unreadable(file, [`${file}: ${error instanceof Error ? error.message : 'cannot be read'}`]);
  }
}

function whatIsWrongAsJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'is not JSON';
  }
}

function lineOf(document: Document, lines: LineCounter, path: string): number | undefined {
  const parts = path.split(/\.|(?=\[)/).filter((part) => part !== '');
  for (let length = parts.length; length > 0; length -= 1) {
    const keys = parts.slice(0, length).map((part) => (/^\[\d+\]$/.test(part) ? Number(part.slice(1, -1)) : part));
    const node: unknown = document.getIn(keys, true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}

function unreadable(file: string, faults: readonly string[]): Refusal {
  return {
    kind: 'manifest-unreadable',
    what: faults.join('\n'),
    why: 'it cannot be told what it says',
    next: [`correct ${file}, then run the command again`],
    facts: { file, faults },
  };
}
