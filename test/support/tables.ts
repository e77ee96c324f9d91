/** Tables for tests, and their visible state. */
import { expect } from '@jest/globals';
import type { Client } from './client.ts';

export interface MadeTable {
  readonly id: string;
  /** `/tables/{tableID}/rows` */
  readonly path: string;
  readonly rowIds: readonly string[];
  readonly version: bigint;
}

type ColumnTypes = Readonly<Record<string, unknown>>;

/** The schema with these columns. */
export function schemaOf(types: ColumnTypes): { columns: { id: string; type: unknown }[] } {
  return { columns: Object.entries(types).map(([id, type]) => ({ id, type })) };
}

export function arrayOf(kind: string): { kind: 'array'; items: { kind: string } } {
  return { kind: 'array', items: { kind } };
}

/** Creates a table. Without types, its schema is inferred. */
export async function createTable(client: Client, rows: readonly unknown[], types?: ColumnTypes): Promise<MadeTable> {
  const schema = types === undefined ? {} : { schema: schemaOf(types) };
  const answer = await client.post('/tables', { name: 'test', ...schema, rows });
  if (answer.status !== 201) throw new Error(answer.text);
  const { tableID, rowIDs } = answer.json.data;
  return { id: tableID, path: `/tables/${tableID}/rows`, rowIds: rowIDs, version: answer.version! };
}

/** Rows without their IDs. */
export function cellsOf(rows: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([id]) => id !== '$rowID')));
}

/** The visible state of a table: its version, and the text of its rows in order. */
export async function stateOf(client: Client, path: string): Promise<unknown> {
  const [page, head] = await Promise.all([client.get(path), client.head(path)]);
  return { status: head.status, version: head.version, text: page.text };
}

/** Runs `act`, and checks that the table and the list of tables have not changed. */
export async function leavingUnchanged<T>(client: Client, path: string, act: () => Promise<T>): Promise<T> {
  const look = async (): Promise<unknown> => [await stateOf(client, path), (await client.get('/tables')).text];
  const before = await look();
  const result = await act();
  expect(await look()).toEqual(before);
  return result;
}

/** IDs that the service never issues. */
export const unknownTableId = '01890000-0000-7000-8000-000000000000';
export const unknownRowId = 'AAAAAAAAAAEAAAAAAAAAAA';
