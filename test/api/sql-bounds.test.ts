/**
 * docs/spec/queries.md, "Bounds of functions": a call that would take too much memory, time or stack is refused before
 * it runs, and the query engine goes on. Before they had a bound, each of these calls slowed the engine's process down,
 * or ended it.
 */
import { beforeAll, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { createTable } from '../support/tables.ts';

// A deployment of its own, because the test counts the starts of its engine.
const { api } = useOwnApi();

let team: Team;

beforeAll(async () => {
  team = await api().createTeam();
  const rows = [{ text: 'x', long: 'a'.repeat(5000), pattern: '%a%a%a%b', big: 2_000_000_000, name: 'Beetle' }];
  const { id } = await createTable(team.client, rows, {
    text: 'string',
    long: 'string',
    pattern: 'string',
    big: 'number',
    name: 'string',
  });
  await team.client.send(`/tables/${id}`, { method: 'PATCH', body: { name: 't' } });
  expect(outcomeOf(await ask('SELECT 1'))).toBe('200');
});

const ask = (sql: string, parameters: readonly unknown[] = []): Promise<Answer> =>
  team.client.post('/query', { sql, parameters });

async function crashesOfEngine(): Promise<number> {
  return sumOf(parseMetrics(await (await fetch(`${api().url}/metrics`)).text()), 'tablog_query_engine_crashes')!;
}

/** A text of more bytes than a query may have. */
const long = (part: string, times: number): string => `(SELECT string_agg('${part}', '') FROM range(${times}))`;
const deep = (open: string, close: string, times: number): string =>
  `${long(open, times)} || '1' || ${long(close, times)}`;

test.each([
  // Functions that are not there any more
  ['SELECT reservoir_quantile(range, 0.5, 2000000000) FROM range(10)', 'There is no function reservoir_quantile'],
  [`SELECT json_merge_patch(${deep('{"a":', '}', 200_000)}, '{}')`, 'There is no function json_merge_patch'],
  [`SELECT json_contains(${deep('[', ']', 200_000)}, '2')`, 'There is no function json_contains'],
  ['SELECT list_reduce(range(40), (a, b) -> a || a)', 'There is no function list_reduce'],
])('%s is no function here', async (sql, message) => {
  const crashes = await crashesOfEngine();
  const answer = await ask(sql);
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '400 query_invalid',
    expect.stringContaining(message),
  ]);
  expect(await crashesOfEngine()).toBe(crashes);
});

test.each<[string, string]>([
  // Texts that are made of a number
  ["SELECT length(repeat('x', 1500000000))", 'repeat makes a text or list of more than 65536 bytes.'],
  ['SELECT length(repeat(text, big::BIGINT)) FROM t', 'repeat makes a text or list of more than 65536 bytes.'],
  ["SELECT length(repeat(repeat('x', 60000), 60000))", 'repeat makes a text or list'],
  [
    "SELECT max(length(repeat(s, n))) FROM (SELECT 'x' AS s, (random() * 0 + 1500000000)::BIGINT AS n FROM range(3))",
    'repeat makes a text or list',
  ],
  ["SELECT 1 FROM t WHERE length(repeat(text, big::BIGINT)) > 5 AND name = 'Beetle'", 'repeat makes a text or list'],
  ['SELECT count(*) FILTER (length(repeat(text, big::BIGINT)) > 5) FROM t', 'repeat makes a text or list'],
  ['SELECT max(repeat(text, big::BIGINT)) OVER () FROM t', 'repeat makes a text or list'],
  ["SELECT string_agg(repeat(text, big::BIGINT), ',' ORDER BY name) FROM t", 'repeat makes a text or list'],
  ["SELECT lpad('a', 1569325056, 'b')", 'lpad makes a text with a length of more than 65536.'],
  ["SELECT rpad(text, big::INTEGER, 'b') FROM t", 'rpad makes a text with a length'],
  ["SELECT list_transform(range(5000), n -> repeat('x', 60000))", 'in a lambda'],
  ["SELECT printf('%1000000000d', 1)", 'printf makes a text'],
  ["SELECT printf('%*d', 1000000000, 1)", 'printf makes a text'],
  ["SELECT format('{:1000000000}', 1)", 'format makes a text'],
  ["SELECT format('{:.1000000000f}', 1.0)", 'format makes a text'],
  [`SELECT format(${long('{0}', 100_000)}, long) FROM t`, 'format makes a text'],
  // Lists that are made of a number
  ['SELECT len(range(200000000))', 'range makes a list of more than 10000 elements.'],
  ['SELECT len(range(big::BIGINT)) FROM t', 'range makes a list'],
  [
    "SELECT len(generate_series(TIMESTAMP '0001-01-01', TIMESTAMP '9999-01-01', INTERVAL 1 SECOND))",
    'generate_series makes a list',
  ],
  ['SELECT list_transform(range(10000), n -> range(10000))', 'in a lambda'],
  ['SELECT list_resize([1], 100000000, 5)', 'list_resize makes a list'],
  ['SELECT NULL::INTEGER[99999][99999]', 'An array has more than 1000 elements'],
  // Texts that are replaced or joined
  [`SELECT replace(${long('a', 100_000)}, 'a', ${long('b', 100_000)})`, 'replace makes a text'],
  [`SELECT regexp_replace(${long('a', 100_000)}, 'a', ${long('b', 100_000)}, 'g')`, 'regexp_replace could make a text'],
  [
    "SELECT array_to_string(list_transform(range(10), n -> list_transform(range(10), m -> long)), '') FROM t",
    'list_transform has a lambda',
  ],
  [`SELECT array_to_string([${long('a', 600_000)}, ${long('b', 600_000)}], '')`, 'array_to_string makes a text'],
  [`SELECT bin(bin(bin(bin(bin(bin(${long('a', 10_000)}))))))`, 'bin gets a text of more than 1048576 bytes.'],
  // Time zones that are unknown, and long
  [
    `SELECT timezone(${long('{', 1_000_000)}, TIMESTAMP '2024-01-01 00:00:00')`,
    'timezone has a time zone, or a text with one, of more than 100 bytes.',
  ],
  ["SELECT TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE long FROM t", 'timezone has a time zone'],
  [`SELECT strptime('2024-01-01 ' || ${long('A', 1_000_000)}, '%Y-%m-%d %Z')`, 'strptime has a time zone'],
  ['SELECT time_bucket(INTERVAL 1 HOUR, now(), long) FROM t', 'time_bucket has a time zone'],
  [
    "SELECT CAST('2024-01-01 00:00:00 ' || long AS TIMESTAMPTZ) FROM t",
    'A text of more than 100 bytes is cast to TIMESTAMP WITH TIME ZONE.',
  ],
  [`SELECT [${long('A', 1_000_000)}]::TIMESTAMPTZ[]`, 'A text of more than 65536 bytes is cast to'],
  // Lists that repeat what is long
  [
    'SELECT count(*) FILTER (to_seconds(TRY_CAST(list_filter(list_transform(range(5000), x -> long), x -> range(100)) AS DOUBLE)) IS NOT NULL) FROM t, range(100)',
    'list_transform has a lambda that makes too much of its list',
  ],
  [
    'SELECT list_filter(list_transform(range(5000), x -> long), (x, i) -> i) FROM t, range(100)',
    'list_transform has a lambda',
  ],
  ['SELECT len([long for x in range(5000)]) FROM t', 'list_apply has a lambda'],
  [
    "SELECT list_transform(range(4000 + length(name)), x -> {'a': [long], 'b': x}) FROM t, range(100)",
    'list_transform has a lambda',
  ],
  [
    'SELECT list_transform(range(100), x -> list_transform(range(100), y -> x || long)) FROM t',
    'list_transform has a lambda',
  ],
  [
    "SELECT list_transform(range(9000 + length(name)), x -> repeat('a', 1024)) FROM t, range(100)",
    'list_transform has a lambda',
  ],
  [
    'SELECT apply([long], x -> [x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x]) FROM t, range(100)',
    'apply has a lambda',
  ],
  [
    `SELECT len(list_transform(range(10000), x -> length(x || l))) FROM (SELECT ${long('a', 100_000)} AS l)`,
    'list_transform has a lambda',
  ],
  ["SELECT len(list_filter(range(10000), x -> split(long || long, 'a')[x] = 'b')) FROM t", 'list_filter has a lambda'],
  [
    "SELECT list_transform([long], x -> replace(x, 'a', long)) FROM t",
    'replace makes a text of more than 65536 bytes in a lambda',
  ],
  ['SELECT list_resize([long], 5000, long)::VARCHAR FROM t, range(100)', 'list_resize makes a list'],
  [
    'SELECT list_select([long], list_transform(range(5000), x -> 1)) FROM t, range(100)',
    'list_select repeats elements',
  ],
  // Patterns
  [`SELECT like_escape(${long('a', 300_000)}, ${long('%a', 300_000)}, '')`, 'A pattern is longer than 1000 bytes'],
  [`SELECT ${long('a', 300_000)} LIKE ${long('%a', 300_000)} ESCAPE '$'`, 'A pattern is longer than 1000 bytes'],
  [`SELECT 'a' LIKE '${'%a'.repeat(1000)}'`, 'A pattern is longer than 1000 bytes'],
  ['SELECT long LIKE pattern FROM t', 'has too many "%"'],
  ['SELECT long ILIKE pattern FROM t', 'has too many "%"'],
  ["SELECT long NOT LIKE pattern ESCAPE '$' FROM t", 'has too many "%"'],
  ["SELECT long GLOB '*a*a*a*b' FROM t", 'has too many "*"'],
  [`SELECT text ~ '${'a'.repeat(2000)}' FROM t`, 'pattern of more than 1000 bytes'],
  ['SELECT regexp_matches(text, long) FROM t', 'pattern of more than 1000 bytes'],
  ["SELECT json_extract('{}', '$..a..a..a..a')", 'more than 3 wildcards'],
  ["SELECT '{}'::JSON -> ('$' || '..a..a..a..a')", 'more than 3 wildcards'],
  // Texts that are compared or looked for
  [`SELECT levenshtein(long, ${long('b', 10_000)}) FROM t`, 'levenshtein compares texts that are too long'],
  ['SELECT damerau_levenshtein(long, long) FROM t', 'compares texts'],
  [
    `SELECT contains(${long('a', 1_000_000)}, ${long('a', 500_000)} || 'b')`,
    'contains looks for a text that is too long',
  ],
  // Aggregates
  ['SELECT max(range, 900000) FROM range(10)', 'The last argument of max must be a number'],
  ['SELECT arg_max(range, range, range) FROM range(10)', 'The last argument of arg_max must be a number'],
  ['SELECT approx_top_k(range, 100000) FROM range(10)', 'and 100 at most'],
  // Aggregates that keep copies of a value for each part of a window
  [
    'SELECT max(DISTINCT to_json(range(9000))) OVER (ORDER BY range) FROM t, range(3000)',
    'max with OVER gets values of more than 67108864 bytes together.',
  ],
  [
    "SELECT max(repeat('a', 60000)) OVER (ORDER BY range ROWS BETWEEN 100 PRECEDING AND CURRENT ROW) FROM t, range(2000)",
    'max with OVER gets values',
  ],
  ['SELECT mode(long) OVER () FROM t, range(14000)', 'mode with OVER gets values'],
  ['SELECT arg_min(1, long) OVER (PARTITION BY range % 2) FROM t, range(14000)', 'arg_min with OVER gets values'],
  [
    'SELECT repeat(long, 2) AS l, max(l) OVER () FROM t',
    'max with OVER has a value of more than 1000 bytes, which it may have only if it names columns',
  ],
  // Aggregates whose results have all values of a window
  ['SELECT len(list(long) OVER ()) FROM t, range(5000)', 'list with OVER makes results that are too long'],
  [
    'SELECT array_agg(range) OVER (ORDER BY range) FROM range(20000)',
    'array_agg with OVER makes results that are too long',
  ],
  [
    "SELECT string_agg(long, ',') OVER (PARTITION BY range % 2 ORDER BY range) FROM t, range(5000)",
    'string_agg with OVER makes results that are too long',
  ],
  [
    'SELECT list(long) OVER (ORDER BY range ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM t, range(5000)',
    'list with OVER makes results that are too long',
  ],
])('%s is beyond a bound', async (sql, message) => {
  const crashes = await crashesOfEngine();
  const answer = await ask(sql);
  expect([outcomeOf(answer), answer.json.error?.message]).toEqual([
    '400 limit_exceeded',
    expect.stringContaining(message),
  ]);
  expect(await crashesOfEngine()).toBe(crashes);
});

test.each<[string, readonly unknown[], unknown]>([
  ['repeat(text, 3)', [], 'xxx'],
  ['repeat(text, length(name))', [], 'xxxxxx'],
  ['repeat(text, NULL)', [], null],
  ["repeat('ab', $1)", [2], 'abab'],
  ["repeat([1], length('ab'))", [], [1, 1]],
  ["lpad(text, 5, '-')", [], '----x'],
  ["rpad(text, length(name)::INTEGER, '-')", [], 'x-----'],
  ["lpad(repeat('ab', length(name)), 3, '-')", [], 'aba'],
  ['range(3)', [], [0, 1, 2]],
  ['range(length(text))', [], [0]],
  ['generate_series(length(text), length(name), 2)', [], [1, 3, 5]],
  ['range(5, 1, -2)', [], [5, 3]],
  ["len(generate_series(DATE '2024-01-01', DATE '2024-12-31', INTERVAL 1 DAY))", [], 366],
  ['list_resize([1, 2], length(text))', [], [1]],
  ['list_transform([1, 2], n -> range(n))', [], [[0], [0, 1]]],
  ["timezone('Europe/Berlin', TIMESTAMPTZ '2024-01-01 00:00:00+00')::VARCHAR", [], '2024-01-01 01:00:00'],
  ["(TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE ('Europe' || '/Berlin'))::VARCHAR", [], '2023-12-31 23:00:00+00'],
  ["strptime('2024-01-02' || left(name, 0), '%Y-%m-%d')::VARCHAR", [], '2024-01-02 00:00:00'],
  ["('2024-01-01 00:00:00 Europe/Berlin' || left(name, 0))::TIMESTAMPTZ::VARCHAR", [], '2023-12-31 23:00:00+00'],
  ["TRY_CAST('2024-01-01 00:00:00 ' || long AS TIMESTAMPTZ)::VARCHAR", [], null],
  [
    "TRY_CAST('2024-01-01 00:00:00' || repeat(' ', 200 + length(name)) AS TIMESTAMPTZ)::VARCHAR",
    [],
    '2024-01-01 00:00:00+00',
  ],
  ["TIMESTAMP '2024-01-01 00:00:00'::TIMESTAMPTZ::VARCHAR", [], '2024-01-01 00:00:00+00'],
  ['list_transform([1, 2], x -> name || x)', [], ['Beetle1', 'Beetle2']],
  ['list_transform(range(1, 4), i -> name[i])', [], ['B', 'e', 'e']],
  [
    "list_transform([text, name], (w, i) -> {'word': w, 'at': i, 'of': name})",
    [],
    [
      { word: 'x', at: 1, of: 'Beetle' },
      { word: 'Beetle', at: 2, of: 'Beetle' },
    ],
  ],
  ["[upper(w) || text for w in string_split('a b', ' ') if w != text]", [], ['Ax', 'Bx']],
  ['list_transform([1, 2], name -> name)', [], [1, 2]],
  ["list_transform([{'t': 5}], t -> t.t)", [], [5]],
  ["list_transform([{'x': 'a', 'name': 'b'}], t -> concat(t.x, name, t.name))", [], ['aBeetleBeetle']],
  ['list_transform(NULL, x -> name)', [], null],
  ['list_transform([], x -> name)', [], []],
  [
    'list_transform([[1, 2], [3]], l -> list_transform(l, x -> x || name || len(l)))',
    [],
    [['1Beetle2', '2Beetle2'], ['3Beetle1']],
  ],
  ['len(list_transform(range(10000), x -> x * big))', [], 10_000],
  ["len(list_transform(range(2000), x -> {'id': name, 'x': x}))", [], 2000],
  ['list_filter([name, text], w -> contains(long, w))', [], []],
  ['len(list_filter(range(5000), x -> NOT contains(long, x::VARCHAR)))', [], 5000],
  ['len(list_transform(range(10), x -> long))', [], 10],
  ["len(list_transform(string_split(long, ''), x -> $1 || x))", ['tag: '], 5000],
  ['list_sum(list_transform(range(1, 5000), i -> length(long[i])))', [], 4999],
  ['list_resize([name], 2, text)', [], ['Beetle', 'x']],
  ['len(list_resize([long], 10000, length(long)))', [], 10_000],
  ['list_select([[name]], [])::VARCHAR', [], '[]'],
  ['list_where([[name]], [false])::VARCHAR', [], '[]'],
  ['list_intersect([[name]], [[text]])::VARCHAR', [], '[]'],
  ['array_intersect(list_transform(range(100), x -> range(100)), [])::VARCHAR', [], '[]'],
  ['list_intersect(NULL, [[name]])::VARCHAR', [], null],
  ['list_select([name, text], [2, 1, 1])', [], ['x', 'Beetle', 'Beetle']],
  ["length(list_transform([name], x -> replace(long, 'a', name))[1])", [], 30_000],
  ["replace(name, 'e', 'EE')", [], 'BEEEEtlEE'],
  ['replace(name, text, long)', [], 'Beetle'],
  ["replace(name, '', 'x')", [], 'Beetle'],
  ["regexp_replace(name, 'e', '<\\0>', 'g')", [], 'B<e><e>tl<e>'],
  ["array_to_string([name, NULL, text], ', ')", [], 'Beetle, x'],
  ["array_to_string(NULL, ', ')", [], null],
  ["array_to_string([name, text], chr(10) || '')", [], 'Beetle\nx'],
  ['bin(5)', [], '101'],
  ['hex(name)', [], '426565746C65'],
  ["url_encode(name || '/')", [], 'Beetle%2F'],
  ["format('{} of {:05.1f} in {{2024}}', name, 2.0::DOUBLE)", [], 'Beetle of 002.0 in {2024}'],
  ["printf('%5d%% of 2024 * %s', 7, name)", [], '    7% of 2024 * Beetle'],
  ["name LIKE '%e%t%'", [], true],
  ["name LIKE '_e%t%e'", [], true],
  ["name NOT LIKE '_e%t%e'", [], false],
  ["name ILIKE '%E%T%'", [], true],
  ["name NOT ILIKE '_E%T%x'", [], true],
  ["'50% of (a)' LIKE '50$%%(_)%' ESCAPE '$'", [], true],
  ["'50 of (a)' LIKE '%50$%%(_)%' ESCAPE '$'", [], false],
  ["'a.b' ILIKE '%A_%$%%B' ESCAPE '$'", [], false],
  ["'AxxBxx' NOT ILIKE '%a_x%b%' ESCAPE '$'", [], false],
  ["'a\nb\nc' LIKE 'a%_b%c'", [], true],
  ["'äöü' LIKE '%_ö%ü%'", [], true],
  ["name LIKE ('%' || text || '%')", [], false],
  ['name LIKE $1', ['%e%_l%'], true],
  ["NULL LIKE '%a%_b%'", [], null],
  ["name GLOB 'B*t*'", [], true],
  ["name ~ 'B.*'", [], true],
  ['~5', [], -6],
  ['regexp_extract_all(name, text)', [], []],
  ['levenshtein(name, text)', [], 6],
  ['contains([name, text], name)', [], true],
  ["position(lower(name[1:0] || 't') IN name)", [], 4],
  ["split_part(name, lower('T'), 2)", [], 'le'],
  ['\'{"a":{"b":1}}\'::JSON -> \'$..b\'', [], [1]],
  ["'{\"a\":1}'::JSON ->> lower('A')", [], '1'],
  ["json_extract('[1,2]', 1)", [], 2],
  ['CAST([1, 2] AS INTEGER[2])', [], [1, 2]],
  ['max(name)', [], 'Beetle'],
  ['max(big, 2)', [], [2_000_000_000]],
  ['arg_max(name, big, $1)', [1], ['Beetle']],
  ['max(DISTINCT name)', [], 'Beetle'],
  ['min(name) FILTER (big > 0)', [], 'Beetle'],
  ['approx_top_k(name, 3)', [], ['Beetle']],
  ['max(big) OVER ()', [], 2_000_000_000],
  ['max(name) OVER (ORDER BY name)', [], 'Beetle'],
  ['max(big, 2) OVER ()', [], [2_000_000_000]],
  ['arg_min(name, big) OVER (PARTITION BY text)', [], 'Beetle'],
  ['mode(NULL) OVER ()', [], null],
  ['sum(length(repeat(text, 2 + length(name)))) OVER ()', [], 8],
])('%s is within its bound', async (expression, parameters, value) => {
  const answer = await ask(`SELECT ${expression} AS value FROM t`, parameters);
  expect([outcomeOf(answer), answer.json.data ?? answer.json.error]).toEqual(['200', [{ value }]]);
});

test.each<[string, unknown]>([
  ['SELECT count(DISTINCT m) AS v FROM (SELECT max(long || range) OVER (ORDER BY range) AS m FROM t, range(10))', 10],
  [
    "SELECT length(arg_max(long, range) OVER (PARTITION BY name ORDER BY range)) AS v FROM t, range(100) WHERE name LIKE 'B%' LIMIT 1",
    5000,
  ],
  ['SELECT length(mode(long) OVER ()) AS v FROM t', 5000],
  ['SELECT length(max(max(long)) OVER ()) AS v FROM t GROUP BY name', 5000],
  ['SELECT length(max(l) OVER ()) AS v FROM (SELECT repeat(long, 2) AS l FROM t)', 10_000],
  ['WITH w AS (SELECT long AS l FROM t) SELECT length(max(l) OVER ()) AS v FROM w', 5000],
  ['SELECT list(name) OVER () AS v FROM t', ['Beetle']],
  [
    "SELECT string_agg(name, '-' ORDER BY range) OVER (PARTITION BY range // 3) AS v FROM t, range(3000) LIMIT 1",
    'Beetle-Beetle-Beetle',
  ],
  [
    'SELECT array_agg(range) OVER (ORDER BY range ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS v FROM range(20000) QUALIFY range = 10',
    [8, 9, 10],
  ],
])('%s is a window within its bound', async (sql, value) => {
  const answer = await ask(sql);
  expect([outcomeOf(answer), (answer.json.data ?? [answer.json.error])[0]]).toEqual(['200', { v: value }]);
});

test.each([
  'SELECT range AS n FROM t, range(14000) ORDER BY max(long) OVER (ORDER BY range)',
  "SELECT range AS n FROM t, range(14000) QUALIFY max(long) OVER (ORDER BY range) = 'a'",
  'SELECT max(m) FROM (SELECT max(long) OVER (ORDER BY range) AS m FROM t, range(14000) WHERE range > 1)',
])('%s exceeds its bound, or the memory that earlier queries have left', async (sql) => {
  const crashes = await crashesOfEngine();
  const answer = await ask(sql);
  expect([outcomeOf(answer), answer.json.error?.message]).toEqual([
    '400 limit_exceeded',
    expect.stringMatching(/^max with OVER gets values|more memory than allowed/),
  ]);
  expect(await crashesOfEngine()).toBe(crashes);
});

test('a guarded call groups and sorts like any other', async () => {
  const answer = await ask(
    "SELECT repeat(s, n) AS r, count(*) AS c FROM (VALUES ('a', 2), ('a', 2), ('b', 1)) v(s, n) GROUP BY repeat(s, n) HAVING length(repeat(s, n)) < 9 ORDER BY repeat(s, n)",
  );
  expect(answer.json.data).toEqual([
    { r: 'aa', c: 2 },
    { r: 'b', c: 1 },
  ]);
});

test('a guard sees the same value as the call, even if it is random', async () => {
  const answer = await ask("SELECT count(length(repeat('x', (random() * 131072)::BIGINT))) AS n FROM range(1000)");
  expect(outcomeOf(answer)).toBe('400 limit_exceeded');
});
