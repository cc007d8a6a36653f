/**
 * Standard base64, read strictly: only the one text that writing the bytes would give is accepted, so that two texts
 * never stand for the same bytes (a signature, a key, a blob). Anything else answers undefined.
 */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined;
}

/** Standard base64 with padding. */
export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
