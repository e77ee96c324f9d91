/** The stages of `npm run test:all`: all tests, at the full scale of scale.ts. */

export interface Stage {
  readonly name: string;
  /** What a pass proves. */
  readonly proves: string;
  /** The arguments of npm. */
  readonly command: readonly string[];
  /** How often the stage is run; an interrupted test:all resumes with the remaining runs. */
  readonly runs?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

const jest = (projectName: string, ...paths: readonly string[]): readonly string[] => {
  const patterns = paths.length === 0 ? [] : ['--testPathPatterns', ...paths];
  return ['run', 'jest', '--', '--ci', '--passWithNoTests=false', '--selectProjects', projectName, ...patterns];
};

/** A stage of kill tests: `runs` runs with `count` kills each. */
const kills = (name: string, proves: string, projectName: string, file: string, count: number, runs: number): Stage => {
  return { name, proves, command: jest(projectName, `${file}\\.test`), runs, environment: { KILLS: String(count) } };
};

/** A stage of 200 kills that all hit the same. `victim`: as the test names it. */
const killsOf = (
  victim: string,
  what: string,
  { prefix, projectName }: { readonly prefix: string; readonly projectName: string },
): Stage => {
  const stage = kills(`${prefix}-${victim}`, `nothing is lost in 200 kills of ${what}`, projectName, 'kills', 20, 10);
  return { ...stage, environment: { ...stage.environment, VICTIM: victim } };
};

const embedded = { prefix: 'kills', projectName: 'faults' };
const onKafka = { prefix: 'kafka-kills', projectName: 'faults on kafka' };

const withoutKills = 'faults/(?!.*(kills|imports|uploads)\\.test)';

export const stages: readonly Stage[] = [
  { name: 'check', proves: 'no lint and no type errors', command: ['run', 'check'] },
  {
    name: 'unit',
    proves: 'decisions, formats, types and codecs do what their cases and properties say; needs python3',
    command: jest('unit'),
  },
  {
    name: 'integration',
    proves: 'the command line, the start, the embedded Postgres and the file stores work as processes',
    command: jest('integration'),
  },
  {
    name: 'chart',
    proves: 'the Helm chart renders, and refuses values that cannot work; needs Helm 3',
    command: jest('integration', 'chart\\.test'),
    environment: { TABLOG_TEST_REQUIRES_HELM: 'true' },
  },
  { name: 'simulation', proves: 'the simulation finds each bug that is planted into it', command: jest('simulation') },
  {
    name: 'histories',
    proves: 'nothing is wrong in 1,000,000 simulated histories, each with one to three faults',
    runs: 20,
    command: ['run', 'simulate', '--', '--histories', '50000', '--processes', '2'],
  },
  {
    name: 'servers',
    proves:
      'the log and its projector keep their promises to any model, and the models and stores theirs, on a Postgres',
    command: jest('servers'),
  },
  { name: 'api', proves: 'the interface is that of the specification', command: jest('api') },
  {
    name: 'data-sets',
    proves:
      'at least 97 of 100 data sets that packages ship load without an option, and each cell comes back; needs Python 3.11 with pip, and the registries of PyPI and npm',
    command: ['run', 'data-sets'],
  },
  {
    name: 'console',
    proves:
      'people can do in a browser what the console offers; every page is accessible, light and dark, wide and narrow',
    command: jest('console'),
  },
  {
    name: 'hostile',
    proves: 'a team that means harm slows no other, and takes no more memory than there is for it',
    command: jest('hostile'),
  },
  {
    name: 'fuzz',
    proves:
      'each of 1,000,000 valid and hostile requests has an answer that the OpenAPI document describes, and sees nothing of another team',
    command: jest('fuzz', 'fuzz/fuzz\\.test'),
    runs: 20,
  },
  {
    name: 'document-fuzz',
    proves:
      'Schemathesis, a public fuzzer that reads the OpenAPI document alone, finds the service as that says; needs Python 3.11 and its registry',
    command: ['run', 'fuzz:document', '--', '--examples', '100'],
  },
  {
    name: 'sql-fuzz',
    proves: 'for an hour, no function of SQL harms its process, whatever its arguments',
    command: jest('fuzz', 'sql-functions\\.test'),
  },
  {
    name: 'replay',
    proves: 'a replay of any log gives the read model that was written live, and `verify` sees each difference',
    command: jest('replay'),
  },
  {
    name: 'faults',
    proves: 'nothing is lost or made up while connections, Postgres, an S3 or a disk fail',
    command: jest('faults', withoutKills),
  },
  killsOf('service', 'the service', embedded),
  killsOf('everything', 'the service and its Postgres', embedded),
  kills('import-kills', 'imports are whole or not there in 20 kills', 'faults', 'imports', 10, 2),
  kills('upload-kills', 'files are whole or not there in 10 kills', 'faults', 'uploads', 5, 2),
  { name: 'kafka-servers', proves: 'the same of the log in Kafka', command: jest('servers on kafka') },
  { name: 'kafka-api', proves: 'the same interface with the log in Kafka', command: jest('api on kafka') },
  { name: 'kafka-split', proves: 'the same with two APIs and two projectors', command: jest('api on kafka, split') },
  {
    name: 'kafka-hostile',
    proves: 'the same of a team that means harm with the log in Kafka',
    command: jest('hostile on kafka'),
  },
  { name: 'kafka-fuzz', proves: 'the same of 50,000 requests with the log in Kafka', command: jest('fuzz on kafka') },
  { name: 'kafka-replay', proves: 'the same of a replay from Kafka', command: jest('replay on kafka') },
  {
    name: 'kafka-faults',
    proves: 'the same while brokers, answers and projectors fail; and the checkers find planted bugs',
    command: jest('faults on kafka', withoutKills),
  },
  killsOf('api', 'an API', onKafka),
  killsOf('projector', 'a projector', onKafka),
  killsOf('projectors', 'both projectors', onKafka),
  killsOf('postgres', 'Postgres', onKafka),
  killsOf('broker', 'the broker', onKafka),
  killsOf('everything', 'everything', onKafka),
  kills(
    'kafka-import-kills',
    'imports are whole or not there in 20 kills of everything',
    'faults on kafka',
    'imports',
    10,
    2,
  ),
  kills(
    'kafka-upload-kills',
    'files are whole or not there in 4 kills of everything',
    'faults on kafka',
    'uploads',
    2,
    2,
  ),
  {
    name: 'move',
    proves: 'a log moves to Kafka and back under load, with 20 kills each way',
    command: jest('move', 'move-log\\.test'),
  },
  {
    name: 'split-move',
    proves: 'the same of a log with two APIs and two projectors',
    command: jest('move', 'split-move\\.test'),
  },
  {
    name: 'restore',
    proves:
      'backups are restored to either kind of log, wherever they come from, with 20 kills of backups and restores',
    command: jest('move', 'move/restore\\.test'),
  },
  // At the little scale: each mutant runs the tests anew.
  {
    name: 'mutants',
    proves:
      'tests notice at least 75 of 100 small changes of decisions, batches, the way of outcomes and the query compiler',
    command: ['run', 'mutate', '--', '--mutants', '100'],
    environment: { TEST_SCALE: '' },
  },
  {
    name: 'smoke',
    proves: 'docker-compose.yml is built, comes up, restarts and drains; needs `docker compose`',
    command: ['run', 'smoke'],
  },
];
