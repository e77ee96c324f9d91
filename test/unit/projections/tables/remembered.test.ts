/** What models remember for the next batch of their partition. */
import { describe, expect, test } from '@jest/globals';
import { models, type States } from '../../../../projections/models.ts';
import { ChangedRows } from '../../../../projections/tables/changed-rows.ts';
import type { RememberedTables } from '../../../../projections/tables/remembered-tables.ts';
import { changedForm } from '../../../../projections/tables/read/stored-body.ts';
import type { RowAddress } from '../../../../src/language/events/row-id.ts';
import { blockRow, given, openStates, tailRow, when } from '../../../support/decisions.ts';
import { add, block, few, patch, remove } from '../../../support/requests.ts';

const one = '{"a":1}';
const remember = ({ tables }: States, before: RememberedTables | null = null): RememberedTables =>
  models.tables.remember!(before, tables)!;

describe('the remembered state of tables', () => {
  test('has each table with its schema', () => {
    const state = given({ schema: 'a:number' });
    when(state, add(few(one)));
    expect(remember(state).table('table')).toMatchObject({
      table: { version: 100n, rows: 1 },
      schema: { columns: [{ id: 'a' }] },
    });
    expect(remember(state).table('unknown')).toBeNull();
  });

  test('has each extent, by key and by the rows that it brought', () => {
    const remembered = remember(given({ block: [one, one], tail: [one] }));
    expect(remembered.extentOf('table', blockRow(1))).toMatchObject({ version: 20n, rows: 2 });
    expect(remembered.extentOf('table', tailRow(0))).toMatchObject({ version: 30n });
    expect(remembered.extent(3n)).toMatchObject({ version: 30n });
    expect(remembered.extentOf('table', { ...blockRow(0), ordinal: 1 })).toBeNull();
    expect(remembered.extentOf('unknown', blockRow(0))).toBeNull();
    expect(remembered.extent(99n)).toBeNull();
  });

  test('has the state of earlier batches, replaced by newer state', () => {
    const state = given({ block: [one] });
    const first = remember(state);
    when(state, add(block(one)));
    const second = remember(state, remember(openStates(), first));
    expect(second.table('table')?.table).toMatchObject({ version: 100n, rows: 2 });
    expect(second.extentOf('table', blockRow(0))).not.toBeNull();
    expect(second.extentOf('table', { version: 100n, ordinal: 0 })).not.toBeNull();
  });

  test('has the most recently patched or deleted rows, unless they are long', () => {
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

  test('has at least a thousand patched rows, whatever was patched before', () => {
    const extent = given({ block: [one] }).tables.extent(1n);
    /**
     * Patches `rows` rows in one batch: those with the indexes from `first` on get the body `body`. Returns what is
     * remembered after it.
     */
    const patched = (first: number, rows: number, body: string, before: RememberedTables | null): RememberedTables => {
      const state = openStates();
      for (let index = first; index < first + rows; index += 1)
        state.tables.changeRow({ kind: 'row', teamId: 'team', extent, index, version: 100n, before: one, body });
      return remember(state, before);
    };
    const first = patched(0, 1000, one, null);
    const second = patched(1000, 999, one, first);
    expect(second.row(1n, 0)).not.toBeNull();
    // The new body of row 1 is too long to be kept. Its old body, which is kept still, must not be taken for the
    // present one.
    const third = patched(1, 1, `{"b":"${'x'.repeat(2000)}"}`, second);
    expect(third.row(1n, 1)).toBeNull();
    expect(third.row(1n, 0)).toBeNull();
    expect(third.row(1n, 1000)).not.toBeNull();
  });

  describe('the rows that have no change', () => {
    const mayHaveChange = (remembered: RememberedTables, extent: bigint): boolean[] =>
      [0, 1, 2].map((index) => remembered.mayHaveChange(extent, index));

    test('are the rows of an extent without changes, except those that were patched or deleted since', () => {
      const state = given({ block: [one, one, one] });
      when(state, add(few(one)));
      const remembered = remember(state);
      expect(mayHaveChange(remembered, 1n)).toEqual([false, false, false]);
      const later = given({ block: [one, one, one] });
      when(later, patch(blockRow(0), '{"a":2}'));
      remember(later, remembered);
      expect(mayHaveChange(remembered, 1n)).toEqual([true, false, false]);
      when(later, remove(blockRow(2)));
      remember(later, remembered);
      expect(mayHaveChange(remembered, 1n)).toEqual([true, false, true]);
    });

    test('are none of an extent that had changes before, or that is unknown', () => {
      const state = given({ block: [one, one, one] });
      when(state, patch(blockRow(0), '{"a":2}'));
      expect(mayHaveChange(remember(state), 1n)).toEqual([true, true, true]);
      expect(mayHaveChange(remember(given()), 1n)).toEqual([true, true, true]);
    });

    test('are none that an extent got after its first change, and none of an extent that is too large to remember', () => {
      const extent = given({ block: [one] }).tables.extent(1n);
      const changed = new ChangedRows();
      changed.begin({ ...extent, key: 1n, rows: 8 });
      changed.begin({ ...extent, key: 2n, rows: 8 * 4 * 1024 * 1024 + 1 });
      expect([changed.mayHave(1n, 7), changed.mayHave(1n, 8), changed.mayHave(2n, 0), changed.mayHave(3n, 0)]).toEqual([
        false,
        true,
        true,
        true,
      ]);
      changed.add(1n, 7);
      changed.add(1n, 8);
      changed.add(3n, 0);
      expect([changed.mayHave(1n, 6), changed.mayHave(1n, 7), changed.mayHave(1n, 8)]).toEqual([false, true, true]);
    });

    test('are dropped for the oldest extents first', () => {
      const extent = given({ block: [one] }).tables.extent(1n);
      const changed = new ChangedRows(3);
      const known = (): boolean[] => [1n, 2n, 3n].map((key) => !changed.mayHave(key, 0));
      changed.begin({ ...extent, key: 1n, rows: 8 });
      changed.begin({ ...extent, key: 2n, rows: 16 });
      expect(known()).toEqual([true, true, false]);
      changed.begin({ ...extent, key: 3n, rows: 8 });
      expect(known()).toEqual([false, true, true]);
      changed.begin({ ...extent, key: 4n, rows: 32 });
      expect(known()).toEqual([false, true, true]);
    });
  });

  describe('rows that are looked up ahead', () => {
    const two = '{"a":2}';
    const known = (): RememberedTables => {
      const state = given({ block: [one, one, one] });
      when(state, add(few(one)));
      return remember(state);
    };
    const patch0 = (body: string, before: RememberedTables): RememberedTables => {
      const state = given({ block: [one, one, one] });
      when(state, patch(blockRow(0), body, { rowBytesMax: 10_000 }));
      return remember(state, before);
    };
    /**
     * Looks up a row of the block ahead, whose body was `one` all the time; `meanwhile` runs before the answer comes.
     * Returns the bodies that were asked for.
     */
    const lookAhead = async (
      remembered: RememberedTables,
      row: RowAddress,
      meanwhile: () => void = () => undefined,
      tableId = 'table',
    ): Promise<number> => {
      let asked = 0;
      await remembered.lookAhead([{ ...row, tableId }], async (wanted) => {
        asked += wanted.length;
        meanwhile();
        return wanted.map(({ extent, index }) => ({
          extent,
          index,
          version: extent.version,
          body: one,
          form: changedForm(20n),
          isChange: false,
        }));
      });
      return asked;
    };

    test('are rows of known extents', async () => {
      const remembered = known();
      expect(await lookAhead(remembered, blockRow(1))).toBe(1);
      expect(remembered.row(1n, 1)).toMatchObject({ body: one, version: 20n });
      expect(remembered.row(1n, 2)).toBeNull();
    });

    test.each([
      ['an unknown table', blockRow(0), 'unknown'],
      ['an unknown extent', { ...blockRow(0), ordinal: 1 }, 'table'],
      ['an index that the extent does not have', blockRow(3), 'table'],
    ])('are no rows of %s', async (_, row, tableId) => {
      expect(await lookAhead(known(), row, undefined, tableId)).toBe(0);
    });

    test('are no rows of a table with long rows, which would take much memory', async () => {
      expect(await lookAhead(patch0(`{"b":"${'x'.repeat(2000)}"}`, known()), blockRow(1))).toBe(0);
    });

    test('never have an old body of a row that was patched before, meanwhile, or since', async () => {
      const before = patch0(two, known());
      expect([await lookAhead(before, blockRow(0)), before.row(1n, 0)?.body]).toEqual([0, two]);
      const meanwhile = known();
      await lookAhead(meanwhile, blockRow(0), () => patch0(two, meanwhile));
      expect(meanwhile.row(1n, 0)?.body).toBe(two);
      const since = known();
      await lookAhead(since, blockRow(0));
      expect(patch0(two, since).row(1n, 0)?.body).toBe(two);
    });

    test('are no rows whose patch has been forgotten again', async () => {
      const extent = given({ block: [one] }).tables.extent(1n);
      const patchMany = (rows: number, remembered: RememberedTables): void => {
        const state = openStates();
        for (let index = 10; index < 10 + rows; index += 1)
          state.tables.changeRow({ kind: 'row', teamId: 'team', extent, index, version: 100n, before: one, body: two });
        remember(state, remembered);
      };
      const since = known();
      await lookAhead(since, blockRow(0));
      patch0(two, since);
      for (let batch = 0; batch < 3; batch += 1) patchMany(2000, since);
      expect(since.row(1n, 0)).toBeNull();
      const meanwhile = known();
      await lookAhead(meanwhile, blockRow(0), () => {
        patch0(two, meanwhile);
        for (let batch = 0; batch < 3; batch += 1) patchMany(2000, meanwhile);
      });
      expect(meanwhile.row(1n, 0)).toBeNull();
      expect(await lookAhead(meanwhile, blockRow(0))).toBe(1);
    });

    test('are none any more once too many of them were not patched', async () => {
      const state = given({ block: Array.from({ length: 3002 }, () => one) });
      when(state, add(few(one)));
      const remembered = remember(state);
      for (let index = 0; index <= 3000; index += 1) await lookAhead(remembered, blockRow(index));
      expect(remembered.row(1n, 0)).not.toBeNull();
      await lookAhead(remembered, blockRow(3001));
      expect([remembered.row(1n, 0), remembered.row(1n, 3001)?.body]).toEqual([null, one]);
    });
  });

  test('forgets all extents once there are too many, and remembers nothing of a batch with too many', () => {
    const state = given({ block: [one] });
    const extent = state.tables.extent(1n);
    const putExtents = (end: bigint): void => {
      for (let key = 0n; key < end; key += 1n) state.tables.putExtent({ ...extent, key, version: 1000n + key });
    };
    putExtents(9000n);
    const full = remember(state);
    expect(full.extentOf('table', { version: 2000n, ordinal: 0 })).not.toBeNull();
    const few = remember(given({ block: [one] }), full);
    expect([
      full === few,
      few.table('table') === null,
      few.extentOf('table', { version: 2000n, ordinal: 0 }) === null,
    ]).toEqual([true, false, false]);
    putExtents(10_001n);
    expect(models.tables.remember!(few, state.tables)).toBeNull();
  });

  test('forgets all tables once there are too many', () => {
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

test('teams are remembered in their present state, and all are forgotten once there are too many', () => {
  const state = given();
  const team = state.teams.team('team')!;
  const first = models.teams.remember!(null, state.teams)!;
  state.teams.change({ ...team, suspended: true });
  const second = models.teams.remember!(first, state.teams)!;
  expect(second.get('team')).toMatchObject({ suspended: true });
  for (let count = 0; count < 1000; count += 1) state.teams.put({ ...team, id: `team ${count}` });
  const full = models.teams.remember!(second, state.teams)!;
  expect(full.get('team 0')).toBeDefined();
  expect(models.teams.remember!(full, given().teams)!.get('team 0')).toBeUndefined();
});
