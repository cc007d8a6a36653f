/** The direction of imports (ARCHITECTURE.md). Each rule says what to do instead. */
const only = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    only(
      'no-cycles',
      'Two files that import each other are one file or need a third: move what both use downward.',
      {},
      { circular: true },
    ),
    only(
      'domain-is-pure',
      'The domain decides over values: pass what it needs (a digest, the time, a row) in as a parameter.',
      { path: '^src/domain' },
      { pathNot: ['^src/domain', '^node_modules/zod'] },
    ),
    only(
      'workflows-stay-deterministic',
      'A workflow names steps. Work goes into an activity (imported as a type), decisions into the domain.',
      { path: '^src/workflows' },
      {
        pathNot: [
          '^src/workflows',
          '^src/domain',
          '^node_modules/@temporalio/workflow',
          '^node_modules/@temporalio/common',
        ],
        dependencyTypesNot: ['type-only'],
      },
    ),
    only(
      'adapters-do-not-meet',
      'store, bus and sealing never import each other: whoever needs two states the port it wants, the worker passes it in.',
      { path: '^src/(store|bus|sealing)/' },
      {
        path: '^src/(store|bus|sealing|operations|activities|workflows|workers|host|granters|foundation)/',
        pathNot: ['^src/$1/'],
        dependencyTypesNot: ['type-only'],
      },
    ),
    only(
      'operations-know-ports',
      'An operation states the port it wants (src/operations) and gets it from whoever constructs it.',
      { path: '^src/operations' },
      { path: '^src/(store|bus|sealing|activities|workflows|workers|host|granters|foundation)/' },
    ),
    only(
      'activities-know-ports',
      'An activity gets its adapters from the worker: state a port in src/activities.',
      { path: '^src/activities' },
      {
        path: '^src/(store|bus|sealing|workflows|workers|host|granters|foundation)/',
        dependencyTypesNot: ['type-only'],
      },
    ),
    only(
      'seats-know-operations',
      'A seat answers by operations and over the bus: state a port in src/seats, the worker passes it in.',
      { path: '^src/seats' },
      {
        path: '^src/(store|sealing|activities|workflows|workers|host|granters|foundation)/',
        dependencyTypesNot: ['type-only'],
      },
    ),
    only(
      'nobody-imports-the-roots',
      'Composition roots are entered, never imported: move what you need out of them.',
      { path: '^src/', pathNot: '^src/workers' },
      { path: '^(src/workers|cli)/' },
    ),
    only(
      'nodes-never-reach-the-store',
      'What runs on a node asks over the bus; only the controller opens the store.',
      { path: '^src/(host|granters|builder)/' },
      { path: '^src/(store|operations|activities|workflows)/' },
    ),
    only(
      'one-importer-of-libsodium',
      'Seal and open through src/sealing.',
      { pathNot: '^src/sealing' },
      { path: '^node_modules/libsodium' },
    ),
    only(
      'few-importers-of-pg',
      'The only SQL is in src/store; granters and the foundation talk to servers they are responsible for.',
      { pathNot: '^src/(store|granters|foundation)' },
      { path: '^node_modules/pg/' },
    ),
    only(
      'one-importer-of-nats',
      'Speak to the bus through src/bus.',
      { pathNot: '^src/bus' },
      { path: '^node_modules/(nats|@nats-io)/' },
    ),
    only(
      'few-importers-of-temporal',
      'Acts are started by cli and workers, written in workflows and activities; nothing else knows Temporal.',
      { pathNot: '^(cli|src/(workers|activities|workflows))' },
      { path: '^node_modules/@temporalio' },
    ),
    only(
      'no-imports-from-tests',
      'Product code never depends on its tests.',
      { path: '^(src|cli)' },
      { path: '^test' },
    ),
    only(
      'no-orphans',
      'Nobody uses this file: use it or delete it.',
      { orphan: true, path: '^(src|cli)', pathNot: ['^cli/main.ts$'] },
      {},
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs', '.json'] },
  },
};
