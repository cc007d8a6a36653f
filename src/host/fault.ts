/** Faults of the operating system, told apart by their codes, never by their words. */
import { errorChain as chainOf } from '../domain/words/error-chain.ts';

/** Whether a caught value is a system error of this code, like ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

/** The sentence that a report and a log may carry of a fault: its chain of messages, joined once. */
export function errorChain(error: unknown): string {
  // How the host holds a folder is nothing to anybody: what lies in it is named as it is named there.
  return chainOf(error).replaceAll(/\/proc\/self\/fd\/[0-9]+\/?/g, '');
}
