/** Texts of results as bytes: whatever their lengths, and wherever they are in memory. */
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from '@jest/globals';
import { eachRun } from '../../../../../src/api/query/engine/text-runs.ts';

/**
 * Texts that the engine keeps in their vectors and those that it does not, some larger than its blocks; more than a
 * vector has.
 */
const lengths = [0, 1, 11, 12, 13, 14, 40, 300, 5_000, 300_000];
const texts = Array.from(
  { length: 5_000 },
  (_, n) => String.fromCodePoint(0xe0 + (n % 7)).repeat(lengths[n % (n % 50 === 0 ? 10 : 8)]!) + String(n),
);
const rows = `SELECT unnest(from_json($1, '["VARCHAR"]')) AS text, generate_subscripts(from_json($1, '["VARCHAR"]'), 1) AS n`;

test.each<readonly [string, string, (all: readonly string[]) => readonly string[]]>([
  ['in a stream', 'SELECT text FROM made', (all) => all],
  ['some of them', `SELECT text FROM made WHERE n % 3 = 0`, (all) => all.filter((_, n) => (n + 1) % 3 === 0)],
  ['sorted', 'SELECT text FROM made ORDER BY n DESC', (all) => all.toReversed()],
  ['made from others', `SELECT text || ',' || text FROM made`, (all) => all.map((text) => `${text},${text}`)],
  ['none', 'SELECT text FROM made WHERE n < 0', () => []],
])('all texts of a result come, %s', async (_, sql, expected) => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`CREATE TABLE made AS ${rows}`, [JSON.stringify(texts)]);
    for (const result of [await connection.run(sql), await connection.stream(sql)]) {
      const found: Buffer[] = [];
      for await (const chunk of result) eachRun(chunk, (run) => found.push(Buffer.from(run)));
      expect(Buffer.concat(found).equals(Buffer.from(expected(texts).join('')))).toBe(true);
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});
