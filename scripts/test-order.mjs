// The order of the test files: what takes milliseconds first, so that a broken rule is seen before servers are raised;
// then the longest first, so that no single file is left to run alone at the end.
const order = [
  'domain',
  'sealing',
  'operations',
  'chaos',
  'leak',
  'acts',
  'granters',
  'cli',
  'e2e',
  'seats',
  'foundation',
  'bus',
  'host',
  'store',
  'replay',
  'cases',
];

const rank = ({ path }) => {
  const at = order.findIndex((folder) => path.includes(`/test/${folder}/`));
  return at < 0 ? order.length : at;
};

export default class TestOrder {
  sort(tests) {
    return [...tests].sort((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path));
  }

  // Jest asks these of a sequencer; nothing is kept between runs.
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}

  shard(tests, { shardIndex, shardCount }) {
    return this.sort(tests).filter((_, at) => at % shardCount === shardIndex - 1);
  }
}
