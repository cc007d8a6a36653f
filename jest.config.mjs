export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  setupFiles: ['<rootDir>/test/support/both-realms.ts'],
  runtime: '<rootDir>/scripts/test-runtime.cjs',
  testSequencer: '<rootDir>/scripts/test-order.mjs',
  reporters: ['default', '<rootDir>/scripts/test-counts.mjs'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  // Most of a test's time is waiting for servers: two workers leave two cores idle for a third of it, three for a tenth.
  maxWorkers: 4,
  testTimeout: 60_000,
};
