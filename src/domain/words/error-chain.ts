/** A fault's messages from the outside in, joined once, where they are printed or kept; never a stack. */
export function errorChain(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null || !('message' in error))
    return 'something that is no error was thrown';
  const cause = 'cause' in error && error.cause !== undefined ? `: ${errorChain(error.cause)}` : '';
  // Several attempts that all failed come as one error without words of its own, but with a code.
  const own = error.message === '' && 'code' in error ? error.code : error.message;
  return `${String(own)}${cause}`;
}
