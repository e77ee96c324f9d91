/** Hostile values of each type, in SQL. */
import type { Random } from '../../support/random.ts';

/** The columns of the table `t`, and their types in SQL. */
export const hostileColumns = {
  n: 'number',
  big: 'number',
  s: 'string',
  long: 'string',
  pattern: 'string',
  yes: 'boolean',
} as const;

/** The rows of `t`, with a column for each of `columns`. */
export const hostileRows = [
  { n: 0, big: 2_000_000_000, s: 'x', long: 'a'.repeat(5000), pattern: '%a%a%a%b', yes: true },
  { n: -1, big: -9_007_199_254_740_991, s: '', long: 'ä\u0301😀'.repeat(500), pattern: '(a+)+$', yes: false },
  { n: 1e-308, big: 1e308, s: '[[{"a":1}]]', long: '['.repeat(9000), pattern: '$..*..*', yes: true },
  { n: 65_536, big: 4_294_967_297, s: '9999-12-31', long: `${'1,'.repeat(4000)}1`, pattern: '{:>999}%s', yes: false },
];

const sizes = [
  '0',
  '-1',
  '1',
  '3',
  '100',
  '999',
  '1000',
  '9999',
  '10001',
  '65537',
  '1000000',
  '2000000000',
  '2147483647',
  '-2147483648',
  '9223372036854775807',
  '(-9223372036854775807 - 1)',
  'n::BIGINT',
  'big::BIGINT',
  'TRY_CAST(big AS INTEGER)',
  '(random() * 2000000000)::BIGINT',
  'length(long)',
];
const numbers = [
  ...sizes,
  '0.1',
  '-0.0::DOUBLE',
  "'NaN'::DOUBLE",
  "'Infinity'::DOUBLE",
  "'-Infinity'::FLOAT",
  '1e308::DOUBLE',
  '1e-320::DOUBLE',
  'n',
  'big',
];
const texts = [
  "''",
  "'a'",
  "'%'",
  "'%a%_b%'",
  "'\\'",
  "'ä😀'",
  "'{}'",
  "'{:999}'",
  "'%999d'",
  "'%s%s'",
  "'(a*)*b'",
  "'(((a{9}){9}){9}){9}'",
  "'$..*'",
  "'$[*]'",
  "'/a/0'",
  "'year'",
  "'day'",
  "'%Y-%m-%d %H:%M:%S.%f %Z'",
  "'Europe/Berlin'",
  "'0'",
  "'0x'",
  "'2024-02-29 23:59:60'",
  "'NFC'",
  "'%%%%%%%%'",
  's',
  'long',
  'pattern',
  "repeat('a', 60000)",
  "repeat('ab%', 20000)",
  'repeat(s, 1000)',
  "(SELECT string_agg('[', '') FROM range(200000))",
  "(SELECT string_agg('ab', '') FROM range(200000))",
  "chr(0) || 'a'",
  'chr(1114111)',
];
const deepJson = (open: string, close: string, times: number): string =>
  `((SELECT string_agg('${open}', '') FROM range(${times})) || '1' || (SELECT string_agg('${close}', '') FROM range(${times})))`;
const jsons = [
  "'{}'::JSON",
  '\'[1,{"a":[null]}]\'::JSON',
  '\'{"a":{"a":{"a":1}}}\'',
  deepJson('[', ']', 500),
  deepJson('{"a":', '}', 900),
  deepJson('[', ']', 200_000),
  deepJson('{"a":', '}', 200_000),
  'to_json(range(9000))',
  "json_object('a', long)",
  's',
];
const moments = [
  "'0001-01-01'",
  "'9999-12-31 23:59:59.999999'",
  "'infinity'",
  "'-infinity'",
  "'290309-12-22 (BC)'",
  "'2024-02-29'",
  "'294247-01-10'",
  "'1970-01-01'",
];
const intervals = [
  'INTERVAL 0 SECOND',
  'INTERVAL 1 MICROSECOND',
  "INTERVAL '-1 month'",
  'INTERVAL 2147483647 MONTH',
  'to_days(2147483647)',
  'to_microseconds(9223372036854775807)',
  "INTERVAL '-178956970 years'",
];
const lists = [
  '[]',
  '[NULL]',
  '[1, 2, NULL]',
  "['a', long]",
  'range(10000)',
  '[[1], [], NULL]',
  'list_transform(range(100), x -> range(100))',
  "['NaN'::DOUBLE, 1]",
  "[{'a': 1}]",
  '[[[[[[[[[[1]]]]]]]]]]',
  'list_transform(range(5000), x -> long)',
  'list_transform(range(10), x -> long)',
  'list_transform(range(3000), x -> \'{"a":1}\' || x)',
  'list_resize([long], 20, s)',
  "string_split(long, '')",
  'generate_series(1, 9000)',
  '[1.5, 2.5, 3.5]::DOUBLE[3]',
  '[n, big]',
];
const structs = ["{'a': 1, 'b': 'x'}", "{'a': {'a': {'a': NULL}}}", 'row(1, long)', "{'a': range(9000)}"];
const maps = [
  "MAP {'a': 1}",
  'MAP {}',
  "MAP {'a': NULL, 'b': 2}",
  'map(range(9000), range(9000))',
  "MAP {[1]: {'a': 2}}",
];
const blobs = [
  "'\\x00\\xFF'::BLOB",
  "''::BLOB",
  'encode(long)',
  "unhex('FF00')",
  "repeat('a'::BLOB, 60000)",
  "from_base64('AAAA')",
];
const ids = [
  'gen_random_uuid()',
  "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID",
  "'00000000-0000-0000-0000-000000000000'::UUID",
];
const wide = [
  '99999999999999999999999999999999999999::DECIMAL(38, 0)',
  '0.00000000000000000000000000000000000001::DECIMAL(38, 38)',
  '170141183460469231731687303715884105727::HUGEINT',
  '340282366920938463463374607431768211455::UHUGEINT',
  '-1::DECIMAL(1, 0)',
  '18446744073709551615::UBIGINT',
  '255::UTINYINT',
  '-128::TINYINT',
];
const booleans = ['true', 'false', 'yes', 'n > 0'];
const lambdas = [
  'x -> x',
  'x -> NULL',
  "x -> repeat('a', 1024)",
  'x -> range(100)',
  '(x, i) -> i',
  'x -> list_transform([x, x], y -> y)',
  'x -> x IS NULL',
  'x -> long',
  'x -> s || x::VARCHAR',
  "x -> {'a': [x], 'b': long}",
  "x -> replace(long, 'a', pattern)",
  '(x, i) -> long[i]',
];

const all = [numbers, texts, jsons, lists, structs, maps, blobs, ids, wide, booleans, intervals];

/** Values for a parameter of a type, as DuckDB names it. */
function valuesOf(random: Random, type: string): readonly string[] {
  if (type === 'LAMBDA') return lambdas;
  if (type.endsWith('[]') || type.endsWith('[ANY]')) return lists;
  if (type.startsWith('MAP')) return maps;
  if (type.startsWith('STRUCT') || type.startsWith('UNION')) return structs;
  if (/^U?(TINY|SMALL|BIG)?INT(EGER)?$|^UINTEGER$/.test(type)) return sizes;
  if (type === 'FLOAT' || type === 'DOUBLE') return numbers;
  if (type.startsWith('DECIMAL') || type.endsWith('HUGEINT')) return wide;
  if (type === 'JSON') return jsons;
  if (type === 'VARCHAR') return random.chance(0.15) ? jsons : texts;
  if (/^(DATE|TIME)/.test(type))
    return moments.map((moment) =>
      /^(DATE|TIME|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?)$/.test(type) ? `${moment}::${type}` : `${moment}::TIMESTAMP`,
    );
  if (type === 'INTERVAL') return intervals;
  if (type === 'BLOB' || type === 'BIT') return blobs;
  if (type === 'UUID') return ids;
  if (type === 'BOOLEAN') return booleans;
  return random.pick(all);
}

/** An argument: mostly of the type, else NULL or of any other. */
export function valueOf(random: Random, type: string): string {
  if (random.chance(0.05)) return 'NULL';
  return random.pick(random.chance(0.07) && type !== 'LAMBDA' ? random.pick(all) : valuesOf(random, type));
}
