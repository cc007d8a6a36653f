/**
 * Jest runs a test in a realm of its own, where an error of Node's core modules is no `instanceof Error`, which it is in
 * production. This makes the tests' answer the same as production's.
 */
import { types } from 'node:util';

const ordinary = Function.prototype[Symbol.hasInstance];
Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    return (this === Error && types.isNativeError(value)) || Reflect.apply(ordinary, this, [value]) === true;
  },
});
