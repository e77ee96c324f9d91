/**
 * The scale of tests that could go on for ever: small in `npm test`, full in `npm run test:all` (test/all.ts), which
 * sets TEST_SCALE=full. Both numbers are here and nowhere else.
 */
export const isFull = process.env['TEST_SCALE'] === 'full';

function scaled<T>(little: T, full: T): T {
  return isFull ? full : little;
}

/** KILLS overrides every number of kills. */
function killsOf(little: number, full: number): number {
  return Number(process.env['KILLS'] ?? scaled(little, full));
}

export const scale = {
  /** The time limit of a property test, in milliseconds. */
  propertyMs: scaled(350, 600_000),
  /** How many histories are simulated, or for how long; the stage `simulation` of test:all simulates far more. */
  simulated: scaled(['--histories', '12'], ['--seconds', '600']),
  /** The limits of the comparison of random requests with the model: in milliseconds, and in sequences. */
  modelMs: scaled(6000, 1_200_000),
  modelSequences: scaled(100, 200),
  /** How long random queries are compared with an evaluator, in milliseconds. */
  queriesMs: scaled(7000, 3_600_000),
  /** The rows of 1,000 columns that each of three teams exports at once. */
  wideRows: Number(process.env['WIDE_ROWS'] ?? scaled(100, 1500)),
  /** The rows of a table that is exported as a workbook. In full, as many as a sheet holds. */
  sheetRows: scaled(20_000, 1_048_575),
  /** How many forged values of each kind are sent. */
  forgedValues: scaled(20, 400),
  /** How many random bodies of texts are sent, as CSV and as TSV. */
  textBodies: scaled(10, 40),
  /** How long concurrent clients record a history, in milliseconds. */
  historyMs: scaled(3000, 30_000),
  /** The number of small chunks in a stash. */
  smallChunks: scaled(400, 3000),
  /**
   * The log that the command line replays: 1,400 events and 16,000 rows, or 100,800 events and more than a million
   * rows.
   */
  replayedLog: scaled(
    { teams: 4, eventsOfTeam: 350, blocksOfTeam: 4, rowsOfBlock: 1000 },
    { teams: 16, eventsOfTeam: 6300, blocksOfTeam: 70, rowsOfBlock: 1000 },
  ),
  replayedAtLeast: scaled({ events: 1300, rows: 12_000 }, { events: 100_000, rows: 1_000_000 }),
  /** How often a replay is killed before it takes over, and how often one takes over. */
  replayKills: scaled(1, 5),
  replayTakeovers: scaled(1, 10),
  /** How often a process is killed that fills the read model of a new version. */
  fillKills: scaled(2, 20),
  /** The log in which one value after the other is altered, and compared each time. */
  alteredLog: scaled(
    { teams: 2, eventsOfTeam: 400, blocksOfTeam: 5, rowsOfBlock: 60 },
    { teams: 5, eventsOfTeam: 400, blocksOfTeam: 15, rowsOfBlock: 60 },
  ),
  /** The log that is compacted and garbage-collected. */
  compactedLog: scaled(
    { teams: 2, eventsOfTeam: 400, blocksOfTeam: 150, rowsOfBlock: 25 },
    { teams: 3, eventsOfTeam: 1200, blocksOfTeam: 500, rowsOfBlock: 25 },
  ),
  /** For how many days of log time a team writes, while garbage is collected. */
  daysOfGrowth: scaled(19, 400),
  /**
   * How often: 32 clients race for a row; processes start at once on a fresh database; a process is stopped under load.
   */
  races: scaled(2, 8),
  startsAtOnce: scaled(1, 3),
  stopsUnderLoad: scaled(2, 5),
  /** How often connections to Postgres are ended or cut, and how often Postgres is killed. */
  cuts: scaled(3, 20),
  postgresKills: scaled(1, 4),
  /** How often a standby of Postgres is promoted, in each way. */
  promotions: scaled(1, 3),
  /**
   * How often the service and its embedded Postgres are killed, and how often one or all parts of the deployment on
   * Kafka.
   */
  kills: killsOf(2, 50),
  killsOnKafka: killsOf(1, 50),
  /** How many writes are acknowledged at least in a run with kills, per kill: 100,000 in the stages on Kafka. */
  writesPerKill: 84,
  /** When the first start of an embedded Postgres is killed, in milliseconds after its begin. */
  firstStartKilledAfter: scaled([100, 400], [30, 100, 200, 400]),
  /** How often a broker that leads is killed or paused, of three. */
  leaderFaults: killsOf(1, 10),
  /** How many requests the fuzzer sends; the stage `fuzz` of test:all has many such runs. */
  fuzzRequests: Number(process.env['FUZZ_REQUESTS'] ?? scaled(2000, 50_000)),
  /**
   * For how long functions of SQL get hostile arguments, in milliseconds; each of them once at least. In the short run
   * once only, so that it asks the same on all machines.
   */
  sqlFunctionsMs: Number(process.env['SQL_FUNCTIONS_MS'] ?? scaled(0, 3_600_000)),
  /** How often a back-up and a restore are killed, each. */
  backupKills: scaled(1, 3),
  importKills: killsOf(1, 20),
  uploadKills: killsOf(1, 10),
  uploadKillsOnKafka: killsOf(1, 4),
  /** How often the command that moves a log is killed, each way. */
  moveKills: killsOf(1, 20),
};
