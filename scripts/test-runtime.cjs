// Jest reads and evaluates every library anew in the realm of every test file: more work than most of the files do themselves.
// Here a library is loaded by Node itself, as in production, once for each of jest's workers. What is under test is not.
const { createRequire, isBuiltin } = require('node:module');
const { SyntheticModule } = require('node:vm');

const ofJest = createRequire(createRequire(require.resolve('jest')).resolve('@jest/core'));
const { default: Runtime } = ofJest('jest-runtime');

/** Anything by a bare name but what is Node's, which jest takes from Node itself, and what is of one test file. */
const isLibrary = (specifier) =>
  /^(?:@[\w-]+\/)?[a-z]/.test(specifier) && !specifier.startsWith('@jest/') && !isBuiltin(specifier);

async function libraryIn(context, specifier) {
  const loaded = await import(specifier);
  const names = Object.keys(loaded);
  const library = new SyntheticModule(
    names,
    () => {
      for (const name of names) library.setExport(name, loaded[name]);
    },
    { context, identifier: specifier },
  );
  await library.link(() => {});
  await library.evaluate();
  return library;
}

module.exports = class LibrariesOutside extends Runtime {
  constructor(config, environment, ...others) {
    super(config, environment, ...others);
    // A library's dates are those that the tests know.
    environment.global.Date = Date;
    const { esmLoader } = this;
    const resolve = esmLoader.resolveModule.bind(esmLoader);
    const libraries = new Map();
    esmLoader.resolveModule = async (specifier, from, context) => {
      if (!isLibrary(specifier)) return resolve(specifier, from, context);
      if (!libraries.has(specifier)) libraries.set(specifier, libraryIn(context, specifier));
      return libraries.get(specifier);
    };
  }
};
