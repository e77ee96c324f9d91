/** docs/spec/queries.md, "SQL": every query is answered, from the team's own tables, and the engine survives. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { createTable } from '../support/tables.ts';

// A deployment of its own, because the engine restarts to free too much memory.
const { api } = useOwnApi();

let team: Team;

beforeAll(async () => {
  team = await api().createTeam();
  const { id } = await createTable(team.client, [
    { Name: 'Beetle', Origin: 'Europe', Power: 46 },
    { Name: 'Civic', Origin: 'Japan', Power: 97.5 },
  ]);
  await team.client.send(`/tables/${id}`, { method: 'PATCH', body: { name: 'cars' } });
  // The copy of another team, which nobody else may find.
  const other = await api().createTeam();
  const secret = await createTable(other.client, [{ secret: 'theirs' }]);
  expect((await other.client.post('/query', { sql: `SELECT secret FROM "${secret.id}"` })).json.data).toEqual([
    { secret: 'theirs' },
  ]);
});

const ask = (sql: string): Promise<Answer> => team.client.post('/query', { sql });

/** SQL that would read or change anything except the tables of the team, and SQL with mistakes. */
const attempts = [
  'INSERT INTO cars VALUES (1)',
  'UPDATE cars SET Power = 1',
  'DELETE FROM cars',
  'DROP TABLE cars',
  'CREATE TABLE t (a INT)',
  'CREATE VIEW v AS SELECT 1',
  'ALTER TABLE cars ADD COLUMN x INT',
  "COPY cars TO '/tmp/x.csv'",
  "COPY (SELECT 1) TO '/tmp/x'",
  "EXPORT DATABASE '/tmp/x'",
  "ATTACH '/tmp/x.db'",
  'USE copy1',
  'PRAGMA database_list',
  "SET memory_limit = '100GB'",
  'INSTALL httpfs',
  'CALL pragma_version()',
  'EXPLAIN SELECT 1',
  'PREPARE p AS SELECT 1',
  'EXECUTE p',
  'DESCRIBE cars',
  'SHOW TABLES',
  'SHOW ALL TABLES',
  'SUMMARIZE cars',
  'SELECT * FROM (DESCRIBE cars)',
  'SELECT * FROM (SHOW TABLES)',
  'PIVOT cars ON Origin USING sum(Power)',
  "FROM cars PIVOT (sum(Power) FOR Origin IN ('USA'))",
  'FROM cars UNPIVOT (v FOR n IN (Name))',
  'SELECT 1; SELECT 2',
  ';',
  '-- nothing',
  'SELECT',
  'SELEC 1',
  "SELECT * FROM '/etc/passwd'",
  "SELECT * FROM read_text('/etc/passwd')",
  "SELECT * FROM glob('/*')",
  "WITH f AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM f",
  "SELECT getenv('HOME')",
  "SELECT current_setting('temp_directory')",
  'SELECT current_user',
  'SELECT user',
  'SELECT session_user',
  'SELECT current_database()',
  'SELECT current_query()',
  'SELECT current_schema',
  "SELECT * FROM query('SELECT 1')",
  "SELECT * FROM query_table('cars')",
  'SELECT * FROM duckdb_tables()',
  'SELECT * FROM duckdb_tables',
  'SELECT * FROM information_schema.tables',
  'SELECT * FROM sqlite_master',
  'SELECT * FROM copy1.rows',
  'SELECT * FROM copy1.main.rows',
  'SELECT * FROM rows',
  'SELECT * FROM main.cars',
  "SELECT system.main.upper('x')",
  'SELECT copy1.rows.c0 FROM cars',
  'SELECT c0, since FROM cars',
  'SELECT rowid FROM cars',
  'SELECT * FROM cars AT (VERSION => 1)',
  'SELECT * FROM cars TABLESAMPLE 10%',
  'SELECT * FROM cars USING SAMPLE 10',
  'SELECT * FROM cars LIMIT 10%',
  'SELECT COLUMNS(*) FROM cars',
  "SELECT COLUMNS(c -> c LIKE 'N%') FROM cars",
  'SELECT min(COLUMNS(*)) FROM cars',
  "SELECT * LIKE 'N%' FROM cars",
  'SELECT * FROM cars NATURAL JOIN cars b',
  'SELECT #99999 FROM cars',
  'SELECT (1, 2)',
  "SELECT list_aggregate([1], 'sum')",
  "SELECT 'x'::foo",
  "SELECT 'a'::ENUM('a')",
  "SELECT 'x' COLLATE de",
  "SELECT nextval('x')",
  "SELECT error('mine')",
  "SELECT 'x'::INT",
  'SELECT 9223372036854775807 + 1',
  'SELECT Name::INT FROM cars',
  'SELECT unknown FROM cars',
  'SELECT * FROM unknown',
  'SELECT $1',
  'SELECT ?',
  'SELECT $x',
  "SELECT 1 + 'x'",
  'SELECT upper(1, 2)',
  'SELECT upper(Name, Name) FROM cars',
  'SELECT Power FROM cars GROUP BY Name',
  'SELECT 1e400',
  'SELECT \'{"a": }\'::JSON',
  'SELECT c.Name FROM cars',
  'SELECT DEFAULT',
  "SELECT $$a$$, E'\\x41', U&'\\0041'",
  'SELECT "a""; SELECT 1 --" FROM cars',
  'WITH x AS (INSERT INTO cars VALUES (1) RETURNING *) SELECT * FROM x',
  'WITH RECURSIVE r(n) USING KEY (n) AS (SELECT 1 UNION SELECT n+1 FROM r WHERE n<3) SELECT * FROM r',
  'WITH duckdb_tables AS (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables',
  'SELECT (WITH duckdb_views AS (SELECT 1) SELECT 1) FROM duckdb_views',
  'SELECT * FROM cars, (SELECT * FROM cars WHERE x.a = 1) y',
  'SELECT * FROM cars WHERE Name IN (SELECT sum(Power) OVER () FROM cars) AND sum(Power) > 1',
  'SELECT count(*) FROM cars WHERE count(*) > 1',
  "SELECT '12:00+02'::TIMETZ",
  'VACUUM',
  'CHECKPOINT',
  'BEGIN',
  'COMMIT',
  'LOAD httpfs',
  'RESET memory_limit',
  'SET VARIABLE x = 1',
  "IMPORT DATABASE '/tmp/x'",
  'DETACH copy1',
  'EXPLAIN ANALYZE SELECT 1',
  'DEALLOCATE p',
  '/* nothing */',
  "SELECT * FROM 'x.csv'",
  "SELECT * FROM read_csv('/etc/passwd')",
  "SELECT * FROM read_blob('/proc/self/environ')",
  "SELECT * FROM read_parquet('x')",
  "SELECT * FROM 'https://example.com/x.csv'",
  "SELECT getvariable('x')",
  'SELECT current_schemas(true)',
  'SELECT txid_current()',
  "SELECT write_log('x')",
  'SELECT sleep_ms(100000)',
  'SELECT pg_sleep(100)',
  'SELECT setseed(0.5)',
  "SELECT json_serialize_plan('SELECT 1')",
  "SELECT * FROM json_execute_serialized_sql('{}')",
  'SELECT inet_server_addr()',
  'SELECT * FROM duckdb_settings()',
  'SELECT * FROM pg_catalog.pg_tables',
  "SELECT * FROM pragma_table_info('cars')",
  "SELECT * FROM storage_info('cars')",
  "SELECT * FROM seq_scan('cars')",
  'SELECT * FROM cars, LATERAL (SELECT * FROM duckdb_tables())',
  'SELECT * FROM cars WHERE EXISTS (FROM pg_tables)',
  'SELECT * FROM arrow_scan(1, 2, 3)',
  'FROM checkpoint()',
  'FROM summary(cars)',
  'SELECT * FROM temp.main.cars',
];

test.each(attempts.map((sql) => [sql]))('SQL that is not allowed is refused: %j', async (sql) => {
  const answer = await ask(sql);
  expect(outcomeOf(answer)).toBe('400 query_invalid');
  // The message shows nothing of the compiled text.
  expect(answer.json.error.message).not.toMatch(/copy[0-9]+\.|LINE 1|__[0-9a-z]+_/);
});

const mistakes: [string, string][] = [
  ['SELECT name FROM cars', 'There is no column "name": did you mean "Name"?'],
  ['SELECT cars.name FROM cars', 'The table "cars" has no column "name": did you mean "Name"?'],
  ['SELECT "$rowid" FROM cars', 'There is no column "$rowid": did you mean "$rowID"?'],
  [
    'SELECT $rowID FROM cars',
    'There is no value for the parameter $rowID. The column is named "$rowID", in double quotes.',
  ],
  ['SELECT * FROM Cars', 'There is no table "Cars": did you mean "cars"?'],
  ['SELECT * FROM car', 'There is no table "car".'],
  ['SELECT Name FROM cars ORDER BY power', 'There is no column "power": did you mean "Power"?'],
  ['SELECT Name FROM cars WHERE Origin = "Japan"', 'Put texts in single quotes and names in double quotes.'],
  ['SELECT Name FROM cars LIMIT 1, 2', 'Write LIMIT 20 OFFSET 10 instead of LIMIT 10, 20.'],
  ['SELECT TOP 5 * FROM cars', 'Write LIMIT 10 at the end instead of TOP 10.'],
  ['SELECT `Name` FROM cars', 'Put names in double quotes, not in backticks.'],
  ["SELECT 'it's' FROM cars", "Write a quote within a text twice: 'it''s'."],
  ['SELECT order FROM cars', 'If a column is named like a keyword, quote it: "order".'],
  ['SELECT foo(Name) FROM cars', 'There is no function foo, or it is not allowed here.'],
  ['SELECT NVL(Power, 0) FROM cars', 'There is no function nvl: use coalesce.'],
  ['SELECT row_number() FROM cars', 'row_number is a window function: it needs OVER (...).'],
  [`SELECT ${'NOT '.repeat(5000)}true`, 'The query is nested too deep.'],
  ['UPDATE cars SET Power = 1', 'Only SELECT is allowed.'],
  ['SELEC 1', 'syntax error at or near "SELEC"'],
  ['SELECT Origin, Power FROM cars GROUP BY Origin', 'column "Power" must appear in the GROUP BY clause'],
  ['SELECT sum(Name) FROM cars', "No function matches the given name and argument types 'sum(VARCHAR)'"],
  ['SELECT Nam FROM cars', 'Candidate bindings: "Name"'],
  ['SELECT c.Name FROM cars', 'There is no table or column "c" in FROM.'],
  ['SELECT Name::INT FROM cars', "Could not convert string 'Beetle' to INT32"],
  ["SELECT {'Name': 1}['Name']", 'read it with a dot: (a)."Name".'],
  ["SELECT j.Name FROM (SELECT '{}'::JSON AS j)", 'Read a member of JSON with an arrow'],
  ['SELECT Name FROM cars a, cars b', 'Ambiguous reference to column name "Name" (use: "a.Name" or "b.Name")'],
];

test.each(mistakes.map(([sql, message]) => [sql.slice(0, 100), message, sql] as const))(
  'what is wrong with %s: %s',
  async (_begin, message, sql) => {
    expect((await ask(sql)).json.error).toEqual({ type: 'query_invalid', message: expect.stringContaining(message) });
  },
);

test.each(
  [
    `SELECT "${'x'.repeat(60_000)}" FROM cars`,
    `SELECT * FROM "${'x'.repeat(60_000)}"`,
    `SELECT f${'x'.repeat(60_000)}()`,
    `SELECT ''${'x'.repeat(60_000)}'`,
  ].map((sql) => [sql.slice(0, 20), sql]),
)('no message is long: %s', async (_begin, sql) => {
  expect((await ask(sql)).json.error.message.length).toBeLessThan(1100);
});

/**
 * Queries that take too much memory, or are too large. After each the engine answers again, if need be after a restart.
 */
const costly: [string, string][] = [
  ["SELECT length(repeat('x', 3000000000)) AS n", '400 limit_exceeded'],
  ["SELECT repeat('x', 10000000000)", '400 limit_exceeded'],
  ['SELECT list_sum(range(2000000000)) AS n', '400 limit_exceeded'],
  ["SELECT string_agg(a.Name, ',') FROM cars a, range(100000000)", '400 limit_exceeded'],
  ['SELECT range FROM range(200000)', '400 limit_exceeded'],
  ["SELECT repeat('x', 500000) FROM range(100)", '400 limit_exceeded'],
  ["SELECT repeat('x', 20000000) AS x", '400 limit_exceeded'],
  ['SELECT range(1000000) AS list', '400 limit_exceeded'],
  [`SELECT ${'1, '.repeat(1000)}1`, '400 limit_exceeded'],
  [`SELECT ${'1,'.repeat(20_000)}1`, '400 limit_exceeded'],
  [`SELECT '${'x'.repeat(66_000)}'`, '400 limit_exceeded'],
  [`SELECT ${'('.repeat(5000)}1${')'.repeat(5000)}`, '200'],
  [`SELECT ${'('.repeat(30_000)}1${')'.repeat(30_000)}`, '400 query_invalid'],
  [`SELECT ${'NOT '.repeat(15_000)}true`, '400 query_invalid'],
  [`SELECT ${'1 + '.repeat(3000)}1`, '400 query_invalid'],
  [`SELECT ${'(SELECT '.repeat(3000)}1${')'.repeat(3000)}`, '400 query_invalid'],
  [`SELECT ${'EXISTS (SELECT '.repeat(30)}1${')'.repeat(30)}`, '400 query_invalid'],
  [`SELECT * FROM ${'(SELECT * FROM '.repeat(150)}cars${')'.repeat(150)}`, '400 query_invalid'],
  [
    `SELECT 1 AS s0, ${Array.from({ length: 20 }, (_, n) => `{a: s${n}, b: s${n}} AS s${n + 1}`).join(', ')}`,
    '400 limit_exceeded',
  ],
  [
    Array.from({ length: 20 }).reduce<string>((before) => `SELECT {a: s, b: s} AS s FROM (${before})`, 'SELECT 1 AS s'),
    '400 limit_exceeded',
  ],
  [
    Array.from({ length: 8 }).reduce<string>(
      (before, _step, n) => `SELECT {"${'x'.repeat(1000)}${n}": s, b: s} AS s FROM (${before})`,
      'SELECT 1 AS s',
    ),
    '400 limit_exceeded',
  ],
  ['/*'.repeat(30_000), '400 limit_exceeded'],
  [`SELECT 1 FROM ${Array.from({ length: 21 }, (_, n) => `cars c${n}`).join(', ')}`, '400 limit_exceeded'],
];

test.each(costly.map(([sql, outcome]) => [sql.slice(0, 100), outcome, sql] as const))(
  'costly SQL is bounded: %s: %s',
  async (_begin, outcome, sql) => {
    // The engine may not have freed the memory of the previous query yet.
    let answer = await ask(sql);
    for (let attempt = 0; answer.status === 503 && attempt < 5; attempt += 1) {
      await sleep(1000);
      answer = await ask(sql);
    }
    expect(outcomeOf(answer)).toBe(outcome);
    await sleepUntil(
      async () => (await ask('SELECT count(*) AS n FROM cars')).json.data?.[0].n === 2,
      'the engine answers',
    );
  },
);
