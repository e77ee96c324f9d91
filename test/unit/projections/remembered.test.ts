/** What models remember for the next batch of their partition. */
import { describe, expect, test } from '@jest/globals';
import { models, type States } from '../../../projections/models.ts';
import type { RememberedTables } from '../../../projections/tables/remembered-tables.ts';
import { blockRow, given, openStates, tailRow, when } from '../../support/decisions.ts';
import { add, block, few, patch, remove } from '../../support/requests.ts';

const one = '{"a":1}';
const remember = ({ tables }: States, before: RememberedTables | null = null): RememberedTables => models.tables.remember!(before, tables);

describe('of tables is remembered', () => {
  test('each table with its schema', () => {
    const state = given({ schema: 'a:number' });
    when(state, add(few(one)));
    expect(remember(state).table('table')).toMatchObject({ table: { version: 100n, rows: 1 }, schema: { columns: [{ id: 'a' }] } });
    expect(remember(state).table('unknown')).toBeNull();
  });

  test('each extent, by key and by what it brought', () => {
    const remembered = remember(given({ block: [one, one], tail: [one] }));
    expect(remembered.extentOf('table', blockRow(1))).toMatchObject({ version: 20n, rows: 2 });
    expect(remembered.extentOf('table', tailRow(0))).toMatchObject({ version: 30n });
    expect(remembered.extent(3n)).toMatchObject({ version: 30n });
    expect(remembered.extentOf('table', { ...blockRow(0), ordinal: 1 })).toBeNull();
    expect(remembered.extentOf('unknown', blockRow(0))).toBeNull();
    expect(remembered.extent(99n)).toBeNull();
  });

  test('what earlier batches knew, replaced by what is newer', () => {
    const state = given({ block: [one] });
    const first = remember(state);
    when(state, add(block(one)));
    const second = remember(state, remember(openStates(), first));
    expect(second.table('table')?.table).toMatchObject({ version: 100n, rows: 2 });
    expect(second.extentOf('table', blockRow(0))).not.toBeNull();
    expect(second.extentOf('table', { version: 100n, ordinal: 0 })).not.toBeNull();
  });

  test('the rows that were patched or deleted last, unless they are long', () => {
    const state = given({ block: [one, one, one] });
    when(state, patch(blockRow(0), '{"a":2}'));
    when(state, remove(blockRow(1)));
    const first = remember(state);
    expect(first.row(1n, 0)).toMatchObject({ body: '{"a":2}', version: 100n });
    expect(first.row(1n, 1)).toMatchObject({ body: null, version: 100n });
    expect(first.row(1n, 2)).toBeNull();
    const later = given({ block: [one, one, one] });
    when(later, patch(blockRow(0), `{"b":"${'x'.repeat(2000)}"}`, { rowBytesMax: 10_000 }));
    const second = remember(later, first);
    expect(second.row(1n, 0)).toBeNull();
    expect(second.row(1n, 1)).not.toBeNull();
  });

  test('a thousand patched rows at least, whatever was patched before them', () => {
    const extent = given({ block: [one] }).tables.extent(1n);
    /** Patches `rows` rows in one batch: those with the indexes from `first` on get the body `body`. Returns what is remembered after it. */
    const patched = (first: number, rows: number, body: string, before: RememberedTables | null): RememberedTables => {
      const state = openStates();
      for (let index = first; index < first + rows; index += 1) state.tables.changeRow({ kind: 'row', teamId: 'team', extent, index, version: 100n, before: one, body });
      return remember(state, before);
    };
    const first = patched(0, 1000, one, null);
    const second = patched(1000, 999, one, first);
    expect(second.row(1n, 0)).not.toBeNull();
    // The new body of row 1 is too long to be kept. Its old body, which is kept still, must not be taken for the present one.
    const third = patched(1, 1, `{"b":"${'x'.repeat(2000)}"}`, second);
    expect(third.row(1n, 1)).toBeNull();
    expect(third.row(1n, 0)).toBeNull();
    expect(third.row(1n, 1000)).not.toBeNull();
  });

  test('nothing any more once it would be too many extents', () => {
    const state = given({ block: [one] });
    const extent = state.tables.extent(1n);
    const putExtents = (end: bigint): void => {
      for (let key = 0n; key < end; key += 1n) state.tables.putExtent({ ...extent, key, version: 1000n + key });
    };
    putExtents(9000n);
    const full = remember(state);
    expect(full.extentOf('table', { version: 2000n, ordinal: 0 })).not.toBeNull();
    const few = remember(given({ block: [one] }), full);
    expect([full === few, few.table('table') === null, few.extentOf('table', { version: 2000n, ordinal: 0 }) === null]).toEqual([true, false, false]);
    putExtents(10_001n);
    const none = remember(state, few);
    expect([none.table('table'), none.extentOf('table', { version: 2000n, ordinal: 0 })]).toEqual([null, null]);
  });

  test('nothing any more once it was too many tables', () => {
    const state = given();
    const table = state.tables.table('table')!;
    const schema = state.tables.schema(table);
    for (let count = 0; count < 1000; count += 1) {
      state.tables.put({ ...table, id: `table ${count}` });
      state.tables.putSchema({ tableId: `table ${count}`, version: table.schemaVersion, schema });
    }
    const full = remember(state);
    expect(full.table('table 0')).not.toBeNull();
    expect(remember(openStates(), full).table('table 0')).toBeNull();
  });
});

test('of teams is remembered how they are now, and nothing once they were too many', () => {
  const state = given();
  const team = state.teams.team('team')!;
  const first = models.teams.remember!(null, state.teams);
  state.teams.change({ ...team, suspended: true });
  const second = models.teams.remember!(first, state.teams);
  expect(second.get('team')).toMatchObject({ suspended: true });
  for (let count = 0; count < 1000; count += 1) state.teams.put({ ...team, id: `team ${count}` });
  const full = models.teams.remember!(second, state.teams);
  expect(full.get('team 0')).toBeDefined();
  expect(models.teams.remember!(full, given().teams).get('team 0')).toBeUndefined();
});
