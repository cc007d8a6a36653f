import { createHash } from 'node:crypto';

/** SHA-256 in lower-case hex, of a text's UTF-8 or of bytes. */
export function sha256Hex(of: string | Uint8Array): string {
  return createHash('sha256').update(of).digest('hex');
}

/** D2. How a text is named by its digest: `sha256:<hex>` of its UTF-8. */
export function digestOf(text: string): string {
  return `sha256:${sha256Hex(text)}`;
}
