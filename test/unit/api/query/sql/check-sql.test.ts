/** What the parser of the engine is not given. */
import { expect, test } from '@jest/globals';
import { checkSql } from '../../../../../src/api/query/sql/check-sql.ts';

const window = (columns: number, uses: number): string =>
  `SELECT ${'sum(1) OVER w, '.repeat(uses)}1 FROM t WINDOW w AS (PARTITION BY ${'a, '.repeat(columns)}a)`;

const refused: [string, string][] = [
  [`SELECT '${'ä'.repeat(33_000)}'`, 'more than 65536 bytes'],
  ["SELECT '\0'", 'U+0000'],
  ['/*'.repeat(30_000), 'in sequence'],
  [`SELECT 1 ${'+'.repeat(60_000)}1`, 'in sequence'],
  [`SELECT 1 ${'*/'.repeat(101)}`, 'in sequence'],
  [`SELECT 1 ${'+-'.repeat(101)}`, 'in sequence'],
  [`SELECT ${'CASE '.repeat(16)}1${' WHEN 1 THEN 1 WHEN 2 THEN 2 END'.repeat(16)}`, 'too many parts'],
  [`SELECT CASE CASE a ${'WHEN 1 THEN 1 '.repeat(1000)}END ${'WHEN 1 THEN 1 '.repeat(1000)}END`, 'too many parts'],
  [`SELECT CASE ${'a + '.repeat(1000)}1 ${'WHEN 1 THEN 1 '.repeat(1000)}END`, 'too many parts'],
  [window(10_000, 100), 'too many parts'],
];

test('200 consecutive characters of operators are accepted, and 201 are not', () => {
  expect(() => checkSql(`SELECT 1 ${'-+'.repeat(100)}1`)).not.toThrow();
  expect(() => checkSql(`SELECT 1 ${'-+'.repeat(100)}-1`)).toThrow('in sequence');
});

test.each(refused.map(([sql, message]) => [message, sql.slice(0, 60), sql]))(
  'SQL is refused with "%s": %s',
  (message, _begin, sql) => {
    expect(() => checkSql(sql)).toThrow(message);
  },
);

test.each(
  [
    `-- ${'-'.repeat(120)}\nSELECT 1`,
    `/*${'*'.repeat(120)}*/ SELECT 1`,
    `SELECT ${'CASE WHEN a THEN 1 ELSE '.repeat(50)}0${' END'.repeat(50)}`,
    `SELECT CASE a ${'WHEN 1 THEN 1 '.repeat(1000)}END`,
    `SELECT ${'CASE a WHEN 1 THEN 2 END, '.repeat(1000)}1`,
    `SELECT a IN (${"'in case of when', ".repeat(1000)}1)`,
    window(20, 20),
    'SELECT 1 AS "case", \'CASE\' AS "end"',
  ].map((sql) => [sql.slice(0, 60), sql]),
)('%s is accepted', (_begin, sql) => {
  expect(() => checkSql(sql)).not.toThrow();
});
