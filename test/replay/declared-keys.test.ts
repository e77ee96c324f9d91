/**
 * A declaration of a key has the same outcome, and leaves the same index, whether the keys of the rows were read before
 * it or not (docs/decisions/0083).
 */
import { expect, test } from '@jest/globals';
import { CopyQueries } from '../../projections/tables/copies.queries.ts';
import { models } from '../../projections/models.ts';
import { KeyPreparations, type KeyPreparation, type PreparedKey } from '../../src/api/http/tables/key-preparations.ts';
import { removeGarbage } from '../../src/log/garbage.ts';
import type { EventOf } from '../../src/language/events/event.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import type { Outcome } from '../../src/language/events/outcome.ts';
import { DrivenTeam } from './driven-team.ts';
import { useDrivenLog } from './use-driven-log.ts';

const log = useDrivenLog();
const hour = 3_600_000;

/** So many rows with keys of their own. */
const rowsOf = (count: number, first = 0): string[] => Array.from({ length: count }, (_, n) => `{"n":${first + n}}`);

/** A table with two blocks of 1,500 rows, 0 and up, and an open tail with the row 9000. */
async function largeTable(partition: number) {
  const team = await DrivenTeam.create(log(), partition);
  const tableId = await team.table();
  const block = await team.add(tableId, 'block', ...rowsOf(1500));
  await team.add(tableId, 'block', ...rowsOf(1500, 1500));
  const tail = await team.add(tableId, 'few', ...rowsOf(1, 9000));
  const rowAt = (index: number): RowAddress => ({ ...block, index });
  return { team, tableId, rowAt, tail };
}
type Large = Awaited<ReturnType<typeof largeTable>>;

const declaring = ({ team, tableId }: Large): EventOf<'TablePatchRequested'> => ({
  type: 'TablePatchRequested',
  teamId: team.id,
  tableId,
  ifMatch: null,
  name: null,
  columns: [],
  key: ['n'],
  preparedKey: null,
});

const preparing = (table: Large): KeyPreparation => {
  const { database } = log();
  return new KeyPreparations(database, new CopyQueries(database)).begin(declaring(table));
};

/** The index that has the keys of all rows now. */
async function read(preparation: KeyPreparation): Promise<PreparedKey | null> {
  const found = await preparation.read(new AbortController().signal);
  if (found === null || 'refusal' in found) throw new Error(JSON.stringify(found));
  return found.prepared;
}

/** Declares the key; resolves to the outcome, or to why it was refused. */
async function declare(table: Large, preparedKey: PreparedKey | null): Promise<Outcome | string> {
  try {
    const [outcome] = await table.team.project(1, [table.team.event({ ...declaring(table), preparedKey })]);
    return outcome!;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Which rows have which keys, in the index in use. */
async function keysOf({ tableId }: Large): Promise<readonly unknown[]> {
  const { rows } = await log().database.pool.query(
    `select row_keys.hash, extents.version, extents.ordinal, row_keys.index from row_keys
      join tables on tables.id = row_keys.table_id and tables.key_since = row_keys.since
      join extents on extents.key = row_keys.extent where tables.id = $1 order by 1`,
    [tableId],
  );
  return rows;
}

const rowsOfTable = (name: string): Promise<number> =>
  log()
    .database.pool.query(`select count(*)::int as count from ${name}`)
    .then(({ rows }) => rows[0].count as number);

type Change = (table: Large) => Promise<unknown>;

const swap: Change = async ({ team, tableId, rowAt }) => {
  await team.patch(tableId, rowAt(3), '{"n":-1}');
  await team.patch(tableId, rowAt(4), '{"n":3}');
  await team.patch(tableId, rowAt(3), '{"n":4}');
};
const replace: Change = async ({ team, tableId, rowAt }) => {
  await team.deleteRow(tableId, rowAt(7));
  await team.add(tableId, 'few', '{"n":7}', '{"n":9001}');
};
const grow: Change = async ({ team, tableId, rowAt }) => {
  await team.add(tableId, 'few', ...rowsOf(5, 20_000));
  await team.add(tableId, 'block', ...rowsOf(300, 30_000));
  const row = await team.add(tableId, 'few', '{"a":"no key"}', '{"n":40000}');
  await team.patch(tableId, row, '{"n":40001}');
  await team.patch(tableId, rowAt(8), '{"n":null}');
};

const declared = { status: 'applied', result: {} };
const unread = { status: 'applied', result: { untried: true } };

const cases: readonly (readonly [what: string, change: Change, expected: object | RegExp])[] = [
  ['nothing', async () => undefined, declared],
  ['rows that swapped their keys', swap, declared],
  ['a row that was deleted, and another one with its key', replace, declared],
  ['rows that were added and patched', grow, declared],
  [
    'a row that got the key of a later row',
    ({ team, tableId, rowAt }) => team.patch(tableId, rowAt(1), '{"n":1400}'),
    /key_not_unique.*row \S+ has the same key, \\"n\\" = 1400/,
  ],
  [
    'rows that got the keys of earlier ones, and of each other',
    async ({ team, tableId, rowAt }) => {
      await team.add(tableId, 'few', '{"n":50000}', '{"n":12}', '{"n":50000}');
      await team.patch(tableId, rowAt(1200), '{"n":1100.0}');
      await team.patch(tableId, rowAt(5), '{"n":1300}');
    },
    /key_not_unique.* has the same key, \\"n\\" = 1100\.0/,
  ],
  [
    'a row that is its own again',
    async ({ team, tableId, rowAt }) => {
      await team.patch(tableId, rowAt(2), '{"n":60000}');
      await team.patch(tableId, rowAt(2), '{"n":2,"a":"patched"}');
    },
    declared,
  ],
  ['many rows', ({ team, tableId }) => team.add(tableId, 'block', ...rowsOf(2001, 70_000)), unread],
  ['the type of a column', ({ team, tableId }) => team.add(tableId, 'few', '{"n":"x"}'), unread],
  [
    'all rows, which are few now',
    ({ team, tableId }) => team.overwriting(tableId, '{"n":1}').then((event) => team.project(1, [event])),
    declared,
  ],
];

test.each(cases)('a declaration reads what has changed since the keys were read: %s', async (_, change, expected) => {
  // Two partitions that have the same events, and so the same versions.
  const [prepared, other] = [await largeTable(0), await largeTable(1)] as const;
  const preparation = preparing(prepared);
  const preparedKey = await read(preparation);
  for (const table of [prepared, other]) await change(table);
  const outcomes = [await declare(prepared, preparedKey), await declare(other, preparedKey)];
  expect(outcomes[0]).toEqual(outcomes[1]);
  if (expected instanceof RegExp) expect(outcomes[0]).toMatch(expected);
  else expect(outcomes[0]).toMatchObject(expected);
  const keys = await keysOf(prepared);
  expect(keys).toEqual(await keysOf(other));
  if (expected === declared) expect(keys.length).toBeGreaterThan(0);
  await preparation.end();
});

test('the keys of rows that have changed since they were read are read again, alone', async () => {
  const [prepared, other] = [await largeTable(2), await largeTable(3)] as const;
  const preparation = preparing(prepared);
  const first = await read(preparation);
  for (const change of [swap, replace, grow, swap]) {
    for (const table of [prepared, other]) await change(table);
    // The same index has them.
    expect(await read(preparation)).toMatchObject({ index: first!.index });
  }
  for (const table of [prepared, other]) await table.team.patch(table.tableId, table.rowAt(9), '{"n":-9}');
  const last = await read(preparation);
  expect([await declare(prepared, last), await declare(other, null)]).toMatchObject([declared, unread]);
  expect(await declare(other, last)).toMatchObject(declared);
  expect(await keysOf(prepared)).toEqual(await keysOf(other));
});

test.each([
  ['in another column', '{"n":-55,"a":"x"}'],
  ['in its key', '{"n":-555}'],
])('rows next to each other that change one by one have the keys of their last change: %s', async (_, last) => {
  const [prepared, other] = [await largeTable(9), await largeTable(10)] as const;
  const preparation = preparing(prepared);
  const patch = async (row: number, body: string): Promise<void> => {
    for (const table of [prepared, other]) await table.team.patch(table.tableId, table.rowAt(row), body);
  };
  // The change of row 4 is stored before that of row 5, so that they are found in this order.
  await patch(4, '{"n":-3}');
  await read(preparation);
  await patch(5, '{"n":-5}');
  await read(preparation);
  await patch(4, '{"n":-4}');
  await patch(5, '{"n":-55}');
  const preparedKey = await read(preparation);
  await patch(5, last);
  expect([await declare(prepared, preparedKey), await declare(other, preparedKey)]).toMatchObject([declared, declared]);
  expect(await keysOf(prepared)).toEqual(await keysOf(other));
});

test('two rows with the same key are found before the declaration', async () => {
  const table = await largeTable(4);
  await table.team.patch(table.tableId, table.rowAt(11), '{"n":10}');
  const preparation = preparing(table);
  const refused = { type: 'key_not_unique', message: expect.stringMatching(/"n" = 10$/) };
  const { signal } = new AbortController();
  expect(await preparation.read(signal)).toMatchObject({ refusal: refused });
  await table.team.patch(table.tableId, table.rowAt(11), '{"n":11}');
  await read(preparation);
  await table.team.add(table.tableId, 'few', '{"n":12}');
  expect(await preparation.read(signal)).toMatchObject({ refusal: { type: 'key_not_unique' } });
  await preparation.end();
});

test('a declaration fills an index anew that a killed process left half filled', async () => {
  const [prepared, other] = [await largeTable(7), await largeTable(8)] as const;
  const preparedKey = await read(preparing(prepared));
  const { pool } = log().database;
  await pool.query('update key_preparations set version = null where table_id = $1', [prepared.tableId]);
  await pool.query('delete from row_keys where table_id = $1 and index % 2 = 0', [prepared.tableId]);
  const outcomes = [await declare(prepared, preparedKey), await declare(other, preparedKey)];
  expect(outcomes[0]).toMatchObject(declared);
  expect(outcomes[0]).toEqual(outcomes[1]);
  expect(await keysOf(prepared)).toEqual(await keysOf(other));
});

test('garbage collection leaves nothing of preparations, but the index that is in use', async () => {
  const [used, abandoned] = [await largeTable(5), await largeTable(6)] as const;
  expect(await declare(used, await read(preparing(used)))).toMatchObject(declared);
  const keys = await keysOf(used);
  // A process was killed after it had read the rows.
  const lost = await read(preparing(abandoned));
  const sweep = async (later: number): Promise<void> => {
    while (await removeGarbage(models, log().database, later)) await Promise.resolve();
  };
  await sweep(0);
  expect(await rowsOfTable('key_preparations')).toBe(1);
  await sweep(2 * hour);
  expect([await rowsOfTable('key_preparations'), await rowsOfTable('prepared_places')]).toEqual([0, 0]);
  expect(await rowsOfTable(`row_keys where table_id = '${abandoned.tableId}'`)).toBe(0);
  expect(await keysOf(used)).toEqual(keys);
  // The event comes after all: it reads the rows itself.
  expect(await declare(abandoned, lost)).toMatchObject(declared);
  expect(await keysOf(abandoned)).toHaveLength(3001);
});
