/** What a SELECT becomes before it runs, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { compileSql } from '../../../../../src/api/query/sql/compile-sql.ts';
import {
  copyingFunctions,
  functions,
  lambdaFunctions,
  sqlOperators,
  tableFunctions,
} from '../../../../../src/api/query/sql/functions.ts';
import { decodeName, decodeNames, encodeName } from '../../../../../src/api/query/sql/names.ts';
import { parseTree } from '../../../../../src/api/query/sql/node.ts';
import { fc } from '../../../../support/property.ts';

let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  instance = await DuckDBInstance.create();
  connection = await instance.connect();
  for (const [catalog, text] of [
    ['copy1', 'mine'],
    ['copy2', 'theirs'],
  ]) {
    await connection.run(`ATTACH ':memory:' AS ${catalog}`);
    await connection.run(`CREATE TABLE ${catalog}.rows AS SELECT '${text}' AS c0`);
  }
});

/** The run of a random test that is under way: it goes on when the time of the test is over. */
let underWay: Promise<void> = Promise.resolve();

afterAll(async () => {
  await underWay.catch(() => undefined);
  connection.closeSync();
  instance.closeSync();
});

async function compile(sql: string, parameters: readonly (string | number | boolean | null)[] = []): Promise<string> {
  const [[json]] = (
    await connection.runAndReadAll('SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)', [sql])
  ).getRows() as [[string]];
  return compileSql(parseTree(json), {
    table: (name) => ({
      text: '(T)',
      columns: name === 'wide' ? Array.from({ length: 100 }, (_, n) => `c${n}`) : ['a', 'b', 'c'],
    }),
    parameters: new Map(parameters.map((value, at) => [String(at + 1), value])),
  });
}

test.each<[string, string, (string | number | boolean | null)[]?]>([
  // Names
  [
    'SELECT a, first_name, A, "a"" --" FROM t',
    'SELECT "a", "first_name", "___41_", "__a_22__20__2d__2d_" FROM (T) AS "t"',
  ],
  ['SELECT 1 AS one', 'SELECT 1 AS "one"'],
  ['SELECT x.A FROM t AS x', 'SELECT "x"."___41_" FROM (T) AS "x"'],
  [
    'SELECT "a""; DROP" FROM "t""; --"',
    'SELECT "__a_22__3b__20__44__52__4f__50_" FROM (T) AS "__t_22__3b__20__2d__2d_"',
  ],
  ['SELECT current_user, CURRENT_DATE', 'SELECT "__current_5f_user", current_date'],
  [
    'SELECT * EXCLUDE (a) REPLACE (1 AS b) RENAME (c AS d) FROM t',
    'SELECT * EXCLUDE ("a") REPLACE (1 AS "b") RENAME ("c" AS "d") FROM (T) AS "t"',
  ],
  ['SELECT t.*, #1 FROM t', 'SELECT "t".*, #1 FROM (T) AS "t"'],
  // Values
  ["SELECT 'it''s' AS a, $$x'y$$ AS b, E'\\n' AS c", "SELECT 'it''s' AS \"a\", 'x''y' AS \"b\", '\n' AS \"c\""],
  [
    'SELECT 1, -1, 1.50, .5, -0.05, 1e3, 99999999999, 10000000000000000000000, NULL, true',
    'SELECT 1 AS "column", -1 AS "column", 1.50 AS "column", 0.5 AS "column", -0.05 AS "column", CAST(\'1000.0\' AS DOUBLE) AS "column", ' +
      '99999999999 AS "column", 10000000000000000000000 AS "column", NULL AS "column", CAST(\'t\' AS BOOLEAN) AS "column"',
  ],
  [
    'SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e',
    'SELECT \'a\'\'b\' AS "a", CAST(\'1\' AS INTEGER) AS "b", CAST(\'1.5\' AS DOUBLE) AS "c", CAST(\'true\' AS BOOLEAN) AS "d", NULL AS "e"',
    ["a'b", 1, 1.5, true, null],
  ],
  [
    'SELECT x::DECIMAL(4,2), x::"Int"[], TRY_CAST(x AS JSON) AS j',
    'SELECT CAST("x" AS DECIMAL(4, 2)) AS "column", CAST("x" AS INTEGER[]) AS "column", TRY_CAST("x" AS JSON) AS "j"',
  ],
  // Expressions
  [
    'SELECT a + 1 > 2 AND NOT b OR c IS NULL AS x',
    'SELECT ((("+"("a", 1) > 2) AND (NOT "b")) OR ("c" IS NULL)) AS "x"',
  ],
  [
    "SELECT a BETWEEN 1 AND 2 AS x, a IN (1, 2) AS y, a LIKE '%' AS z",
    'SELECT ("a" BETWEEN 1 AND 2) AS "x", ("a" IN (1, 2)) AS "y", "~~"("a", \'%\') AS "z"',
  ],
  [
    'SELECT CASE WHEN a THEN 1 END, coalesce(a, b) AS c',
    'SELECT CASE WHEN "a" THEN 1 ELSE NULL END AS "case", coalesce("a", "b") AS "c"',
  ],
  [
    "SELECT extract(year FROM a), position('x' IN a)",
    'SELECT "date_part"(\'year\', "a") AS "date_part", "position"("a", \'x\') AS "position"',
  ],
  [
    "SELECT list_transform(a, x -> x + 1) AS l, a -> '$.b' AS j",
    'SELECT "list_transform"("a", (lambda "x": "+"("x", 1))) AS "l", "json_extract"("a", \'$.b\') AS "j"',
  ],
  [
    "SELECT a[1] AS x, a[1:] AS y, a[:-:2] AS z, (s).B AS s, {'K': 1} AS k",
    'SELECT ("a")[1] AS "x", ("a")[1:] AS "y", ("a")[:-:2] AS "z", struct_extract("s", \'___42_\') AS "s", "struct_pack"("___4b_" := 1) AS "k"',
  ],
  [
    "SELECT a.b, t.a.b, a.B, t.a.B.c, struct_extract(a, 'B') FROM t",
    'SELECT "a"."b", "t"."a"."b", struct_extract("a", \'___42_\'), struct_extract(struct_extract("t"."a", \'___42_\'), \'c\'), "struct_extract"("a", \'___42_\') AS "struct_extract" FROM (T) AS "t"',
  ],
  [
    'SELECT count(*), sum(DISTINCT a ORDER BY b DESC) FILTER (c)',
    'SELECT "count_star"() AS "count", "sum"(DISTINCT "a" ORDER BY "b" DESC) FILTER (WHERE "c") AS "sum"',
  ],
  [
    'SELECT rank() OVER (PARTITION BY a ORDER BY b)',
    'SELECT "rank"() OVER (PARTITION BY "a" ORDER BY "b" RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "rank"',
  ],
  [
    'SELECT sum(a) OVER (ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES)',
    'SELECT "sum"("a") OVER ( ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) AS "sum"',
  ],
  [
    'SELECT (SELECT 1) AS a, EXISTS (SELECT 1) AS b, 1 > ALL (SELECT 2) AS c',
    'SELECT (SELECT 1 AS "column") AS "a", EXISTS (SELECT 1 AS "column") AS "b", (NOT (1 <= ANY (SELECT 2 AS "column"))) AS "c"',
  ],
  // Clauses
  [
    'SELECT DISTINCT ON (a) b FROM t WHERE c GROUP BY 1, b HAVING d QUALIFY e ORDER BY a DESC NULLS LAST, 1 LIMIT 1 OFFSET 2',
    'SELECT DISTINCT ON ("a") "b" FROM (T) AS "t" WHERE "c" GROUP BY 1, "b" HAVING "d" QUALIFY "e" ORDER BY "a" DESC NULLS LAST, 1 LIMIT 1 OFFSET 2',
  ],
  ['SELECT a FROM t GROUP BY CUBE (a)', 'SELECT "a" FROM (T) AS "t" GROUP BY GROUPING SETS ((), ("a"))'],
  ['SELECT a FROM t GROUP BY ALL ORDER BY ALL', 'SELECT "a" FROM (T) AS "t" GROUP BY ALL ORDER BY ALL'],
  [
    '(SELECT 1 AS a LIMIT 1) UNION ALL SELECT 2 ORDER BY 1',
    '(SELECT 1 AS "a" LIMIT 1) UNION ALL (SELECT 2 AS "column") ORDER BY 1',
  ],
  ['SELECT 1 AS a UNION BY NAME SELECT 2', '(SELECT 1 AS "a") UNION BY NAME (SELECT 2 AS "column")'],
  [
    'SELECT * FROM t a JOIN t b USING (x) LEFT JOIN t c ON a.x = c.x, unnest([1]) u(y)',
    'SELECT * FROM ((((T) AS "a" JOIN (T) AS "b" USING ("x")) LEFT JOIN (T) AS "c" ON ("a"."x" = "c"."x")) CROSS JOIN "unnest"("list_value"(1)) AS "u" ("y"))',
  ],
  [
    'WITH t AS (SELECT * FROM t), u(n) AS (SELECT * FROM t) SELECT * FROM u, t',
    'WITH w1 AS (SELECT * FROM (T) AS "t"), w2 ("n") AS (SELECT * FROM w1 AS "t") SELECT * FROM (w2 AS "u" CROSS JOIN w1 AS "t")',
  ],
  [
    'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r) SELECT n FROM r',
    'WITH RECURSIVE w1 ("n") AS ((SELECT 1 AS "column") UNION ALL (SELECT "n" FROM w1 AS "r")) SELECT "n" FROM w1 AS "r"',
  ],
  [
    'WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT 2) SELECT * FROM a), a',
    'WITH w1 AS (SELECT 1 AS "column") SELECT * FROM ((WITH w2 AS (SELECT 2 AS "column") SELECT * FROM w2 AS "a") CROSS JOIN w1 AS "a")',
  ],
])('SQL is compiled: %s', async (sql, expected, parameters = []) => {
  expect(await compile(sql, parameters)).toBe(expected);
});

test.each([
  'BOOLEAN',
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'HUGEINT',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
  'UBIGINT',
  'UHUGEINT',
  'FLOAT',
  'DOUBLE',
  'VARCHAR',
  'BLOB',
  'DATE',
  'TIME',
  'TIMESTAMP',
  'TIMESTAMP_S',
  'TIMESTAMP_MS',
  'TIMESTAMP_NS',
  'TIMESTAMP WITH TIME ZONE',
  'INTERVAL',
  'UUID',
  'INTEGER[]',
  'INTEGER[3]',
  'DECIMAL(9, 4)',
  'MAP(VARCHAR, INTEGER)',
  'STRUCT("a" INTEGER)',
])('a query may cast to %s', async (type) => {
  // A text may have the name of a time zone, which has a bound.
  const [from, expected] = type.includes('ZONE')
    ? ["'2024-01-01'", `SELECT CAST('2024-01-01' AS ${type}) AS "x"`]
    : ['a', `SELECT CAST("a" AS ${type}) AS "x"`];
  expect(await compile(`SELECT CAST(${from} AS ${type}) AS x`)).toBe(expected);
});

test('a lambda has a guard only if its result may be larger than its list', async () => {
  const unguarded = [
    'x -> x',
    "x -> upper(x) || ', '",
    'x -> x * n + 1',
    'x -> s = x',
    "(x, i) -> {'x': x, 'i': i}",
    "x -> CASE WHEN x > s THEN x ELSE 'none' END",
    'x -> list_transform(x, y -> y + 1)',
  ];
  for (const lambda of unguarded)
    expect([lambda, await compile(`SELECT list_transform(l, ${lambda}) AS x FROM t`)]).toEqual([
      lambda,
      expect.not.stringContaining('has a lambda'),
    ]);
  const guarded = [
    'x -> s',
    'x -> x || s',
    'x -> repeat(x, 2)',
    'x -> x || $1',
    'x -> [x, x, x, x, x, x, x, x, x]',
    'x -> list_transform([1], y -> x)',
    'x -> coalesce(x, s)',
    `x -> '${'a'.repeat(101)}'`,
  ];
  for (const lambda of guarded)
    expect([
      lambda,
      await compile(`SELECT list_transform(l, ${lambda}) AS x FROM t`, lambda.includes('$1') ? ['a'] : []),
    ]).toEqual([lambda, expect.stringContaining('list_transform has a lambda')]);
  expect(await compile('SELECT list_filter(l, x -> x = s) AS x FROM t')).not.toContain('has a lambda');
  expect(await compile('SELECT list_filter(l, x -> x || s = s) AS x FROM t')).toContain('list_filter has a lambda');
});

const nested = (before: string, inside: string, after: string, depth: number): string =>
  before.repeat(depth) + inside + after.repeat(depth);

const inEach = (first: string, next: (before: string, n: number) => string): string =>
  Array.from({ length: 14 }, (_, n) => n).reduce(next, first);

/** Each step stands for the one before twice, so all of them for more than any engine could hold. */
const doubled: readonly string[] = [
  `SELECT 1 AS s0, ${Array.from({ length: 14 }, (_, n) => `{a: s${n}, b: s${n}} AS s${n + 1}`).join(', ')}`,
  `SELECT 1 AS s0, ${Array.from({ length: 14 }, (_, n) => `s${n} + s${n} AS s${n + 1}`).join(', ')}`,
  inEach('SELECT 1 AS s', (before) => `SELECT {a: s, b: s} AS s FROM (${before})`),
  inEach('SELECT 1 AS s', (before) => `SELECT [{a: t.s}, {b: t.s}] AS s FROM (${before}) AS t`),
  inEach('SELECT 1 AS s', (before) => `SELECT *, {a: #1, b: #1} AS s FROM (${before})`),
  inEach('SELECT 1 AS s', (before) => `SELECT t AS a, t AS b FROM (${before}) AS t`),
  inEach('SELECT 1 AS s', (before) => `SELECT {a: r, b: r} AS s FROM (${before}) AS t (r)`),
  inEach('SELECT 1 AS s', (before) => `SELECT * REPLACE ({a: s, b: s} AS s) FROM (${before})`),
  inEach('SELECT {x: 1} AS s', (before) => `SELECT {x: {a: x, b: x}} AS s FROM (SELECT s.* FROM (${before}))`),
  inEach('SELECT {x: 1} AS s', (before) => `SELECT {x: {a: x, b: x}} AS s FROM (SELECT unnest(s) FROM (${before}))`),
  inEach('SELECT 1 AS s', (before) => `SELECT *, * FROM (${before})`),
  inEach('SELECT 1 AS s', (before) => `SELECT t.*, * FROM (${before}) AS t (r)`),
  inEach('SELECT 1 AS s', (before) => `SELECT {a: s_1, b: s_1} AS s FROM (SELECT *, * FROM (${before}))`),
  inEach('SELECT a FROM t', (before) => `SELECT a, {a: a_1, b: a_1} AS a FROM (SELECT *, a FROM (${before}))`),
  inEach('SELECT [1] AS s', (before) => `SELECT list_transform(s, x -> {a: x, b: x}) AS s FROM (${before})`),
  inEach(
    'SELECT 1 AS s',
    (before) => `SELECT s FROM (VALUES (1)) LEFT JOIN LATERAL (SELECT {a: s, b: s} AS s FROM (${before})) ON true`,
  ),
  `WITH a0 AS (SELECT 1 AS s), ${Array.from({ length: 14 }, (_, n) => `a${n + 1} AS (SELECT {a: s, b: s} AS s FROM a${n})`).join(', ')} SELECT s FROM a14`,
  inEach('1', (before) => `nullif(${before}, 0)`).replace('', 'SELECT '),
  inEach('[1]', (before) => `list_transform(${before}, x -> {a: x, b: x})`).replace('', 'SELECT '),
  `SELECT ${Array.from({ length: 101 }, (_, n) => `w AS w${n}`).join(', ')} FROM wide AS w`,
];

test.each<[string, string | RegExp, (string | number | boolean | null)[]?]>([
  ['SELECT 1; SELECT 2', 'There must be one statement.'],
  ['-- nothing', 'There must be one statement.'],
  ['SELECT * FROM main.t', 'There are no schemas'],
  ['SELECT * FROM a.b.t', 'There are no schemas'],
  ['SELECT * FROM (DESCRIBE t)', 'DESCRIBE, SHOW or SUMMARIZE'],
  ['SHOW TABLES', 'DESCRIBE, SHOW or SUMMARIZE'],
  ["SELECT getenv('HOME')", 'There is no function getenv'],
  ["SELECT system.main.upper('x')", 'A function with a catalog'],
  ['SELECT x.upper(1)', 'There is no function upper'],
  ["SELECT * FROM read_text('x')", 'There is no function read_text'],
  ['SELECT * FROM repeat(1, 2)', 'There is no function repeat'],
  ['SELECT * FROM t TABLESAMPLE 10%', 'A sample'],
  ['SELECT * FROM t AT (VERSION => 1)', 'AT'],
  ['SELECT * FROM t LIMIT 10%', 'LIMIT PERCENT'],
  ['SELECT COLUMNS(*) FROM t', 'COLUMNS'],
  ['SELECT min(COLUMNS(*)) FROM t', 'COLUMNS'],
  ['SELECT * FROM t NATURAL JOIN t u', 'NATURAL'],
  ['FROM t PIVOT (sum(x) FOR y IN (1))', 'PIVOT'],
  ['SELECT 1::my.sort', 'UNBOUND TYPE INFO with schema'],
  ["SELECT 'a'::ENUM('a')", 'Such a type'],
  ["SELECT 'a' COLLATE de", 'The collation de'],
  ['SELECT 1e400', 'a number that is too large'],
  ['SELECT DEFAULT', 'VALUE DEFAULT'],
  ['SELECT $1', 'no value for the parameter $1.'],
  ['SELECT $version', 'The column is named "$version", in double quotes.'],
  ['SELECT $rowID', 'The column is named "$rowID", in double quotes.'],
  ['SELECT $a', /\$a\.$/],
  ['SELECT 1', 'has no parameter $1', [1]],
  ['SELECT ?', 'U+0000', ['\0']],
  ['WITH RECURSIVE r(n) USING KEY (n) AS (SELECT 1 UNION SELECT n FROM r) SELECT 1 FROM r', 'USING KEY'],
  [`SELECT ${nested('(SELECT ', '1', ')', 7)}`, 'nested more than 6 deep'],
  [`SELECT ${nested('upper(', '1', ')', 200)}`, 'nested too deep'],
  [`SELECT 1 FROM ${Array.from({ length: 21 }, (_, n) => `t t${n}`).join(', ')}`, 'more than 20 tables'],
  [`SELECT ${'$1, '.repeat(50)} 1`, 'too large', ['x'.repeat(100_000)]],
  ...doubled.map((sql): [string, string] => [sql, 'more than 10000 parts']),
  ['SELECT 1 FROM t GROUP BY CUBE (a, b, c, d, e, f, g, h, i)', 'more than 256 grouping sets'],
])('SQL is refused by the compiler: %s', async (sql, message, parameters = []) => {
  await expect(compile(sql, parameters)).rejects.toThrow(message);
});

test('an argument that is passed on counts once', async () => {
  const columns = Array.from({ length: 50 }, (_, n) => `c${n}`);
  const first = `SELECT ${columns.map((name) => `${'a + '.repeat(20)}1 AS ${name}`).join(', ')} FROM t`;
  await expect(
    compile(
      Array.from({ length: 20 }).reduce<string>((before) => `SELECT ${columns.join(', ')} FROM (${before})`, first),
    ),
  ).resolves.toContain('"c49"');
});

test('functions that are expanded repeat each argument at most three times', async () => {
  const macros = (
    await connection.runAndReadAll(
      "SELECT function_name, parameters, macro_definition FROM duckdb_functions() WHERE function_type = 'macro'",
    )
  ).getRowsJson() as [string, string[], string][];
  const copies = macros
    .filter(([name]) => functions.has(name))
    .map(([name, parameters, definition]) => {
      return {
        name,
        most: Math.max(
          ...parameters.map(
            (parameter) =>
              definition.replaceAll(/'[^']*'/g, '').match(new RegExp(`\\b${parameter}\\b`, 'g'))?.length ?? 0,
          ),
        ),
      };
    });
  expect(copies.filter(({ name, most }) => most > 3 || (most > 1 && !copyingFunctions.has(name)))).toEqual([]);
});

test('each allowed function only computes a value', async () => {
  const found = (
    await connection.runAndReadAll('SELECT DISTINCT function_name, function_type FROM duckdb_functions()')
  ).getRows() as [string, string][];
  const ofTypes = (...types: readonly string[]): Set<string> =>
    new Set(found.filter(([, type]) => types.includes(type)).map(([name]) => name));
  const [computing, tables] = [ofTypes('scalar', 'aggregate', 'macro'), ofTypes('table')];
  expect(
    [...functions, ...sqlOperators, ...lambdaFunctions].filter((name) => !computing.has(name) && name !== 'unnest'),
  ).toEqual([]);
  expect([...tableFunctions].filter((name) => !tables.has(name))).toEqual([]);
});

describe('names', () => {
  test.each([
    ['a', 'a'],
    ['first_name2', 'first_name2'],
    ['A', '___41_'],
    ['_', '___5f_'],
    ['a__b', '__a_5f__5f_b'],
    ['user', '__user'],
    ['\u{1f600}', '___1f600_'],
    ['\u{10ffff}', '___10ffff_'],
    ['___41_', '___5f__5f__5f_41_5f_'],
  ])('the name %j is encoded as %j', (name, encoded) => {
    expect([encodeName(name), decodeNames(encoded)]).toEqual([encoded, name]);
  });

  // DuckDB takes these for calls, even in quotes.
  test.each([
    'current_catalog',
    'current_date',
    'current_role',
    'current_schema',
    'current_time',
    'current_timestamp',
    'current_user',
    'localtime',
    'localtimestamp',
    'session_user',
    'user',
  ])('%s is a name, not a call', (name) => {
    expect(encodeName(name)).toMatch(/^__/);
  });

  test.each(['__', '__typename', '__Secure', '__N_SSG', 'a___41_', '___41_B', '___110000_'])(
    "the name %j is none of the engine's",
    (text) => {
      expect([decodeName(text), decodeNames(text)]).toEqual([text, text]);
    },
  );

  test('no two names become one, and messages show them as they were written', () => {
    const name = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.stringMatching(/^[_a-f0-9A]{1,8}$/));
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(encodeName(a)).toMatch(/^[a-z0-9_]+$/);
        expect(decodeNames(`"${encodeName(a)}" or "${encodeName(b)}"!`)).toBe(`"${a}" or "${b}"!`);
        expect(encodeName(a) === encodeName(b)).toBe(a === b);
      }),
      { numRuns: 1_000_000 },
    );
  });
});

/** Constructs with a name or a text of the query. */
const constructs: readonly ((name: string, text: string) => string)[] = [
  (name) => `SELECT ${name} FROM t`,
  (name) => `SELECT t.${name} FROM t`,
  (name) => `SELECT 1 AS ${name}`,
  (name) => `SELECT ${name}.* FROM t AS ${name}`,
  (name) => `SELECT * FROM t AS x (${name})`,
  (name) => `SELECT * FROM ${name}`,
  (name) => `SELECT * EXCLUDE (${name}) FROM t`,
  (name) => `SELECT * REPLACE (1 AS ${name}) FROM t`,
  (name) => `SELECT * RENAME (c0 AS ${name}) FROM t`,
  (name) => `SELECT * EXCLUDE (t.${name}) FROM t`,
  (name) => `WITH ${name} AS (SELECT c0 FROM t) SELECT * FROM ${name}`,
  (name) => `WITH a (${name}) AS (SELECT c0 FROM t) SELECT ${name} FROM a`,
  (name) => `WITH RECURSIVE ${name} AS (SELECT c0 FROM t UNION SELECT c0 FROM ${name}) SELECT * FROM ${name}`,
  (name) => `SELECT {${name}: 1}`,
  (name) => `SELECT struct_pack(${name} := c0) FROM t`,
  (name) => `SELECT ({${name}: c0}).${name} FROM t`,
  (name) => `SELECT NULL::STRUCT(${name} INT)`,
  (name) => `SELECT 1::${name}`,
  (name) => `SELECT ${name}(1)`,
  (name) => `SELECT ${name}.${name}(1)`,
  (name) => `SELECT list_transform([1], lambda ${name}: ${name})`,
  (name) => `SELECT [${name} FOR ${name} IN [1]]`,
  (name) => `SELECT sum(1) OVER ${name} FROM t WINDOW ${name} AS (ORDER BY c0)`,
  (name) => `SELECT * FROM t a JOIN t b USING (${name})`,
  (name) => `SELECT c0 COLLATE ${name} FROM t`,
  (name) => `SELECT * FROM range(1) AS ${name} (${name})`,
  (name) => `SELECT * FROM (VALUES (1)) ${name} (${name})`,
  (name) => `SELECT * FROM ${name}(1)`,
  (name) => `SELECT rank() OVER (ORDER BY ${name}) FROM t`,
  (name) => `SELECT c0 FROM t GROUP BY ${name}`,
  (name) => `SELECT c0 FROM t ORDER BY ${name}`,
  (name) => `SELECT (SELECT ${name} FROM t)`,
  (name) => `SELECT * FROM t PIVOT (count(*) FOR ${name} IN ('x'))`,
  (name) => `SELECT * FROM ${name}.${name}`,
  (name) => `SELECT ${name} -> 'x' FROM t`,
  (name) => `SELECT $${name}`,
  (name) => `SELECT unnest(c0, ${name} := true) FROM t`,
  (_name, text) => `SELECT ${text}`,
  (_name, text) => `SELECT c0 LIKE ${text} ESCAPE ${text} FROM t`,
  (_name, text) => `SELECT map {${text}: 1}[${text}]`,
  (_name, text) => `SELECT extract(${text} FROM now())`,
  (_name, text) => `SELECT INTERVAL ${text}`,
  (_name, text) => `SELECT DATE ${text}`,
  (_name, text) => `SELECT * FROM ${text}`,
  (_name, text) => `SELECT ${text}::JSON ->> ${text}`,
  (_name, text) => `SELECT $x$${text}$x$`,
];

test('a query with any names and texts reads only its own tables', async () => {
  const part = fc.oneof(
    fc.constantFrom(
      '"',
      '""',
      "'",
      ';',
      '--',
      '/*',
      '*/',
      '\\',
      '$$',
      '$x$',
      '\n',
      ' ',
      '(',
      ')',
      '.',
      ',',
      '\u2019',
      '\u201d',
      '\u00a0',
      '\ufeff',
      '"; SELECT * FROM copy2.main.rows --',
      '" FROM copy2.rows --',
      "' FROM copy2.rows --",
    ),
    fc.constantFrom('copy2', 'copy2.rows', 'rows', 'main', 'c0', 'w1', 'SELECT * FROM', 'x'),
    fc.string({ unit: 'grapheme', maxLength: 3 }),
  );
  const hostile = fc.array(part, { maxLength: 5 }).map((parts) => parts.join('').replaceAll('\0', ''));
  const run = async (construct: (typeof constructs)[number], name: string, text: string): Promise<void> => {
    const sql = construct(`"${name.replaceAll('"', '""')}"`, `'${text.replaceAll("'", "''")}'`);
    const [[json]] = (
      await connection.runAndReadAll('SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)', [sql])
    ).getRows() as [[string]];
    let compiled: string;
    try {
      compiled = compileSql(parseTree(json), {
        table: () => ({ text: '(SELECT c0 FROM copy1.main.rows)', columns: ['c0'] }),
        parameters: new Map([[name, text]]),
      });
    } catch (error) {
      expect(error).toHaveProperty('name', 'QueryError');
      return;
    }
    // Without texts, names and what stands for a table, nothing of the query is left.
    const rest = compiled
      .replaceAll(/'(?:[^']|'')*'/g, '')
      .replaceAll('(SELECT c0 FROM copy1.main.rows)', '')
      .replaceAll(/"(?:[a-z0-9_]+|[^a-z0-9_"]{1,4})"/g, '');
    expect(rest).toMatch(/^[A-Za-z0-9_ (),.:=<>#*[\]{}-]*$/);
    expect(rest).not.toMatch(/copy|rows|main|--/);
    const answer = await connection.runAndReadAll(compiled).then(
      (result) => JSON.stringify(result.getRowsJson()),
      (error: Error) => error.message,
    );
    expect(answer).not.toContain('theirs');
  };
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...constructs), hostile, hostile, (construct, name, text) => {
      underWay = run(construct, name, text);
      return underWay;
    }),
    { numRuns: 1_000_000 },
  );
});
