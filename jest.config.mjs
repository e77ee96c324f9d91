/** Node runs the TypeScript files as they are, so there is nothing to transform. */
const project = (name) => ({
  displayName: name,
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: [`<rootDir>/test/${name}/**/*.test.ts`],
});

/** These share one Postgres, which is started before them and stopped after them. */
const onPostgres = (name) => ({
  ...project(name),
  globalSetup: '<rootDir>/test/support/start-postgres.ts',
  globalTeardown: '<rootDir>/test/support/stop-postgres.ts',
});

export default {
  maxWorkers: 2,
  testTimeout: 120_000,
  projects: [
    project('unit'),
    project('integration'),
    onPostgres('api'),
    onPostgres('replay'),
    onPostgres('faults'),
  ],
};
