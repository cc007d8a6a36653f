/** A fault's messages from the outside in, joined once, where they are printed or kept; never a stack. */
export function errorChain(error: unknown): string {
  const words: string[] = [];
  for (let at: unknown = error; at !== undefined && words.length < 8; at = at instanceof Error ? at.cause : undefined) {
    words.push(at instanceof Error ? at.message : String(at));
  }
  return words.join(': ');
}
