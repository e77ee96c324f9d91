/** docs/spec/queries.md: SQL over the tables of a team, and nothing else. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { createTable, type MadeTable } from '../support/tables.ts';

const { client, api } = useApi({ QUERY_TIMEOUT_MS: '4000' });

let team: Team;
let cars: MadeTable;
const rows = [
  { Name: 'Beetle', Origin: 'Europe', Power: 46, at: '2024-03-01T10:00:00+02:00', on: '2024-03-01', time: '12:30', tags: ['a', 'b'], any: { x: 1 } },
  { Name: 'Civic', Origin: 'Japan', Power: 97.5 }, { Name: 'Corolla', Origin: 'Japan', Power: 65 },
];
const types = {
  Name: 'string', Origin: 'string', Power: 'number', at: 'dateTime', on: 'date', time: 'time', tags: { kind: 'array', items: { kind: 'string' } }, any: 'json',
};

beforeAll(async () => {
  team = await api().createTeam();
  cars = await createTable(team.client, rows, types);
  await team.client.send(`/tables/${cars.id}`, { method: 'PATCH', body: { name: 'cars' } });
});

const ask = (sql: string, parameters?: unknown): Promise<Answer> => team.client.post('/query', { sql, ...(parameters === undefined ? {} : { parameters }) });

describe('answers', () => {
  test.each<[string, unknown, unknown]>([
    ['SELECT 1 AS one', undefined, [{ one: 1 }]],
    ['SELECT Name FROM cars ORDER BY Power DESC LIMIT 1', undefined, [{ Name: 'Civic' }]],
    ['select cars.Name from cars where cars."Power" > $1 order by 1', [60], [{ Name: 'Civic' }, { Name: 'Corolla' }]],
    ['SELECT Origin, count(*) AS n, sum(Power) AS power FROM cars GROUP BY ALL ORDER BY n', undefined, [{ Origin: 'Europe', n: 1, power: 46 }, { Origin: 'Japan', n: 2, power: 162.5 }]],
    ['WITH strong AS (SELECT * FROM cars WHERE Power > $least) SELECT count(*) AS n FROM strong', { least: 50 }, [{ n: 2 }]],
    ['SELECT a.Name, b.Name FROM cars a JOIN cars b ON a.Origin = b.Origin AND a.Power < b.Power', undefined, [{ Name: 'Corolla', Name_1: 'Civic' }]],
    ['SELECT "at", "on", time, tags, "any" FROM cars WHERE Name = ?', ['Beetle'], [{ at: '2024-03-01T08:00:00Z', on: '2024-03-01', time: '12:30:00', tags: ['a', 'b'], any: '{"x":1}' }]],
    ['SELECT unnest(tags) AS tag FROM cars', undefined, [{ tag: 'a' }, { tag: 'b' }]],
    ['SELECT Name, rank() OVER (PARTITION BY Origin ORDER BY Power) AS place FROM cars ORDER BY Name', undefined, [{ Name: 'Beetle', place: 1 }, { Name: 'Civic', place: 2 }, { Name: 'Corolla', place: 1 }]],
    ['WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT sum(i) AS sum FROM n', undefined, [{ sum: 10 }]],
    ['SELECT i FROM range(3) t(i)', undefined, [{ i: 0 }, { i: 1 }, { i: 2 }]],
    ['SELECT (SELECT max(Power) FROM cars c WHERE c.Origin = cars.Origin) AS best FROM cars ORDER BY 1 LIMIT 1', undefined, [{ best: 46 }]],
    ['SELECT json_extract_string("any", \'$.x\') AS x, list_transform(tags, lambda t: upper(t)) AS tags FROM cars WHERE "any" IS NOT NULL', undefined, [{ x: '1', tags: ['A', 'B'] }]],
    ['SELECT 9007199254740993 AS big, 1.5::DECIMAL(4,2) AS decimal, NULL AS none, true AS yes, INTERVAL 1 DAY AS day', undefined, [{ big: '9007199254740993', decimal: 1.5, none: null, yes: true, day: 'P1D' }]],
    ['FROM cars SELECT count(*) AS n', undefined, [{ n: 3 }]],
    ['SELECT count("$rowID") AS ids, min("$version") = max("$version") AS same FROM cars', undefined, [{ ids: 3, same: true }]],
    ['(SELECT Name FROM cars LIMIT 0) UNION SELECT \'x\'', undefined, [{ Name: 'x' }]],
    ['SELECT * FROM (VALUES (1, \'a\')) t(n, s)', undefined, [{ n: 1, s: 'a' }]],
  ])('%s', async (sql, parameters, data) => {
    const answer = await ask(sql, parameters);
    expect([outcomeOf(answer), answer.json.data ?? answer.json.error.message]).toEqual(['200', data]);
  });

  test('a table by its ID, with its version, and what was written before', async () => {
    const { path, id } = await createTable(team.client, [{ n: 1 }]);
    const { version } = await team.client.post(path, [{ n: 2 }]);
    const answer = await ask(`SELECT sum(n) AS sum FROM "${id}"`);
    expect(answer.json).toEqual({ data: [{ sum: 3 }], columns: [{ name: 'sum', type: 'DOUBLE' }], versions: { [id]: String(version) } });
  });

  test('columns whose IDs differ by case are two', async () => {
    const { id } = await createTable(team.client, [{ a: 1, A: 2 }]);
    expect((await ask(`SELECT a, A, a + A AS sum, max(A) FROM "${id}" GROUP BY ALL`)).json.data).toEqual([{ a: 1, A: 2, sum: 3, 'max(A)': 2 }]);
    expect((await ask(`SELECT * FROM "${id}"`)).json.data).toEqual([{ a: 1, A: 2, $rowID: expect.any(String), $version: expect.any(Number) }]);
  });
});

test.each<[string, unknown]>([
  ['SELECT 1', [1]], ['SELECT $1', []], ['SELECT $1', [1, 2]], ['SELECT $x', { y: 1 }], ['SELECT $x', {}], ['SELECT $1', { x: 1 }], ['SELECT $1::INT', ['x']],
])('%s with the parameters %j is a mistake', async (sql, parameters) => {
  expect(outcomeOf(await ask(sql, parameters))).toBe('400 query_invalid');
});

test('two tables of one name are named by ID', async () => {
  const first = await createTable(team.client, [{ n: 1 }]);
  await Promise.all([first, await createTable(team.client, [{ n: 2 }])].map(({ id }) => team.client.send(`/tables/${id}`, { method: 'PATCH', body: { name: 'twice' } })));
  const answer = await ask('SELECT * FROM twice');
  expect([outcomeOf(answer), answer.json.error.message]).toEqual(['400 query_invalid', '2 tables have the name "twice": name the table by its ID.']);
  expect((await ask(`SELECT n FROM "${first.id}"`)).json.data).toEqual([{ n: 1 }]);
});

/** What reads or changes anything but the tables of the team, or never ends. */
const attempts = [
  // Other statements
  'INSERT INTO cars VALUES (1)', 'UPDATE cars SET Power = 1', 'DELETE FROM cars', 'DROP TABLE cars', 'CREATE TABLE t (a INT)', 'CREATE VIEW v AS SELECT 1', 'ALTER TABLE cars ADD COLUMN x INT',
  'COPY cars TO \'/tmp/x.csv\'', 'COPY (SELECT 1) TO \'/tmp/x\'', 'EXPORT DATABASE \'/tmp/x\'', 'IMPORT DATABASE \'/tmp/x\'', 'ATTACH \'/tmp/x.db\'', 'DETACH copy1', 'USE copy1',
  'PRAGMA database_list', 'PRAGMA version', 'SET memory_limit = \'100GB\'', 'RESET memory_limit', 'INSTALL httpfs', 'LOAD httpfs', 'CALL pragma_version()', 'CHECKPOINT', 'VACUUM', 'BEGIN', 'COMMIT',
  'EXPLAIN SELECT 1', 'EXPLAIN ANALYZE SELECT 1', 'PREPARE p AS SELECT 1', 'EXECUTE p', 'DEALLOCATE p', 'DESCRIBE cars', 'SHOW TABLES', 'SHOW ALL TABLES', 'SUMMARIZE cars', 'SET VARIABLE x = 1',
  'PIVOT cars ON Origin USING sum(Power)', 'SELECT 1; SELECT 2', 'SELECT 1; DROP TABLE cars', '', ';', '-- nothing', '/* nothing */', 'SELECT', 'SELEC 1', 'x', 'SELECT 1 -- ', '\u0000',
  // Files and networks
  'SELECT * FROM \'/etc/passwd\'', 'SELECT * FROM \'x.csv\'', 'SELECT * FROM read_csv(\'/etc/passwd\')', 'SELECT * FROM read_text(\'/etc/passwd\')', 'SELECT * FROM read_blob(\'/proc/self/environ\')',
  'SELECT * FROM read_parquet(\'x\')', 'SELECT * FROM read_json(\'x\')', 'SELECT * FROM glob(\'/*\')', 'SELECT * FROM \'https://example.com/x.csv\'', 'SELECT * FROM sniff_csv(\'x\')',
  'SELECT * FROM parquet_metadata(\'x\')', 'SELECT * FROM read_duckdb(\'x\')', 'WITH f AS (SELECT * FROM read_text(\'/etc/passwd\')) SELECT * FROM f', 'SELECT (SELECT content FROM read_text(\'/etc/passwd\'))',
  // Settings, the environment, the session
  'SELECT getenv(\'HOME\')', 'SELECT current_setting(\'temp_directory\')', 'SELECT getvariable(\'x\')', 'SELECT current_query()', 'SELECT current_database()', 'SELECT current_schemas(true)', 'SELECT txid_current()',
  'SELECT write_log(\'x\')', 'SELECT sleep_ms(100000)', 'SELECT pg_sleep(100)', 'SELECT nextval(\'x\')', 'SELECT setseed(0.5)', 'SELECT json_serialize_plan(\'SELECT 1\')', 'SELECT json_execute_serialized_sql(\'{}\')',
  'SELECT * FROM query(\'SELECT 1\')', 'SELECT * FROM query_table(\'cars\')', 'SELECT * FROM json_execute_serialized_sql(\'{}\')', 'SELECT inet_server_addr()', 'SELECT get_block_size(\'x\')',
  // The catalogue and others
  'SELECT * FROM duckdb_tables()', 'SELECT * FROM duckdb_tables', 'SELECT * FROM duckdb_settings()', 'SELECT * FROM duckdb_databases()', 'SELECT * FROM duckdb_secrets()', 'SELECT * FROM duckdb_memory()',
  'SELECT * FROM information_schema.tables', 'SELECT * FROM pg_catalog.pg_tables', 'SELECT * FROM pg_tables', 'SELECT * FROM sqlite_master', 'SELECT * FROM pragma_table_info(\'cars\')', 'SELECT * FROM copy1.rows',
  'SELECT * FROM copy1.main.rows', 'SELECT * FROM rows', 'SELECT * FROM temp.main.cars', 'SELECT * FROM main.cars', 'SELECT * FROM system.main.duckdb_tables', 'SELECT * FROM storage_info(\'cars\')', 'SELECT * FROM seq_scan(\'cars\')',
  'WITH duckdb_tables AS (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables', 'WITH x AS (SELECT 1) SELECT * FROM x, duckdb_views', 'SELECT (WITH duckdb_views AS (SELECT 1) SELECT 1) FROM duckdb_views',
  'SELECT * FROM (SELECT * FROM duckdb_columns())', 'SELECT * FROM cars, LATERAL (SELECT * FROM duckdb_tables())', 'SELECT * FROM cars WHERE EXISTS (FROM pg_tables)', 'SELECT system.main.current_setting(\'x\')',
  'SELECT main.upper(\'x\')', 'SELECT * FROM "table x"', 'SELECT * FROM arrow_scan(1, 2, 3)', 'SELECT * FROM test_all_types()', 'SELECT * FROM which_secret(\'x\', \'s3\')', 'FROM checkpoint()', 'FROM summary(cars)',
  // Mistakes
  'SELECT unknown FROM cars', 'SELECT * FROM unknown', 'SELECT $1', 'SELECT $x', 'SELECT 1 + \'x\'', 'SELECT \'x\'::INT', 'SELECT error(\'mine\')', 'SELECT Power FROM cars GROUP BY Name', 'SELECT * FROM cars AT (VERSION => 1)',
];

test.each(attempts.map((sql) => [sql]))('refuses %j', async (sql) => {
  const answer = await ask(sql);
  expect(outcomeOf(answer)).toMatch(sql.trim() === 'SELECT 1 --' ? /^200$/ : /^400 (query_invalid|request_validation_error)$/);
});

/** What takes too long, or too much memory. */
test.each([
  ['WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n', /^(408 query_timeout|400 limit_exceeded)$/],
  ['SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000) c WHERE a.range + b.range = c.range - 1', /^408 query_timeout$/],
  ['SELECT length(repeat(\'x\', 3000000000)) AS n', /^400 (limit_exceeded|query_invalid)$/],
  ['SELECT list_sum(range(2000000000)) AS n', /^400 (limit_exceeded|query_invalid)$/],
  ['SELECT range FROM range(200000)', /^400 limit_exceeded$/],
  ['SELECT repeat(\'x\', 20000000) AS x', /^400 limit_exceeded$/],
  [`SELECT ${'('.repeat(5000)}1${')'.repeat(5000)}`, /^(200|400 query_invalid)$/],
  [`SELECT ${Array.from({ length: 3000 }, () => '1').join(' + ')} AS n`, /^400 query_invalid$/],
  [`SELECT ${'x'.repeat(200_000)}`, /^400 (query_invalid|request_validation_error)$/],
])('%s', async (sql, outcome) => {
  expect(outcomeOf(await ask(sql))).toMatch(outcome);
  expect((await ask('SELECT 1 AS one')).json.data).toEqual([{ one: 1 }]);
});

test('nobody sees the tables of another team, or of another app', async () => {
  const ofApp = (await team.createToken({ appId: 'shop' })).client;
  const linked = await team.client.post('/tables', { name: 'linked', rows: [{ n: 1 }], appsToLink: ['shop'] });
  expect((await ofApp.post('/query', { sql: 'SELECT n FROM linked' })).json.data).toEqual([{ n: 1 }]);
  for (const name of ['cars', `"${cars.id}"`]) {
    for (const asker of [client(), ofApp]) {
      expect(outcomeOf(await asker.post('/query', { sql: `SELECT * FROM ${name}` }))).toBe('400 query_invalid');
    }
  }
  expect(outcomeOf(linked)).toBe('201');
});
