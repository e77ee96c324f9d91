/** The editor completes no word that the engine or the service does not know. */
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from '@jest/globals';
import { functions, keywords, types } from '../../../../console/src/query/sql-words.ts';
import * as allowed from '../../../../src/api/query/sql/functions.ts';

test('all keywords, types and functions exist', async () => {
  const engine = await DuckDBInstance.create(':memory:');
  const connection = await engine.connect();
  const namesOf = async (sql: string): Promise<Set<string>> =>
    new Set((await connection.runAndReadAll(sql)).getRows().map(([name]) => String(name).toLowerCase()));
  const [known, knownTypes] = [
    await namesOf('SELECT keyword_name FROM duckdb_keywords()'),
    await namesOf('SELECT type_name FROM duckdb_types()'),
  ];
  connection.closeSync();
  engine.closeSync();
  expect(keywords.filter((word) => !known.has(word))).toEqual([]);
  expect(types.filter((word) => !knownTypes.has(word))).toEqual([]);
  // COALESCE and EXTRACT are of the grammar, unnest is a function of tables.
  const names = new Set(
    Object.values(allowed).flatMap((each) => (each instanceof Set ? [...(each as Set<string>)] : [])),
  );
  expect(functions.filter((word) => !names.has(word) && !known.has(word))).toEqual([]);
});
