/** The state of a batch: events see what earlier ones changed, and each thing that changed is stored once. */
import { describe, expect, test } from '@jest/globals';

import { models, type States } from '../../../projections/models.ts';
import { emptyProfile } from '../../../src/language/values/build-profile.ts';
import { changedForm } from '../../../projections/tables/read/stored-body.ts';
import { blockRow, change, given, here, tailRow, when } from '../../support/decisions.ts';
import { add, create, few, patch, remove } from '../../support/requests.ts';

const one = '{"a":1}';
const at = (version: bigint): typeof here => ({ ...here, version });

describe('the changes to store', () => {
  test('are the net changes of all events', () => {
    const state = given({ block: [one] });
    when(state, add(few(one)), at(100n));
    when(state, add(few('{"a":2}')), at(101n));
    when(state, patch(blockRow(0), '{"a":3}'), at(102n));
    when(state, patch(blockRow(0), '{"a":4}'), at(103n));
    expect(state.tables.changedTables()).toMatchObject([{ id: 'table', version: 103n, rows: 3 }]);
    expect(state.teams.changedTeams()).toMatchObject([{ id: 'team', rows: 3 }]);
    expect(state.tables.newExtents()).toMatchObject([{ version: 100n, rows: 2 }]);
    expect(state.tables.changedExtents()).toMatchObject([{ version: 20n, changed: true }]);
    expect(state.tables.changedRows()).toMatchObject([{ index: 0, version: 103n, body: '{"a":4}' }]);
    expect(state.tables.newTailRows).toMatchObject([
      { index: 0, version: 100n, body: one },
      { index: 1, version: 101n, body: '{"a":2}' },
    ]);
    expect(state.tables.newTables()).toEqual([]);
  });

  test('distinguish rows that change for the first time from rows that an earlier batch patched or deleted', () => {
    const extent = given({ block: [one] }).tables.extent(1n);
    const state = given({ block: [one, one], tail: [one] });
    state.tables.putRow({ extent, index: 2, version: 40n, body: one, form: changedForm(40n), isChange: true });
    const patched = (index: number, version: bigint): void => {
      change(state, [{ kind: 'row', teamId: 'team', extent, index, version, before: one, body: '{"a":2}' }]);
    };
    when(state, patch(tailRow(0), '{"a":3}'), at(100n));
    patched(0, 101n);
    patched(0, 102n);
    patched(2, 103n);
    patched(2, 104n);
    expect(state.tables.newChanges()).toMatchObject([
      { index: 0, version: 100n, isChange: true },
      { index: 0, version: 102n },
    ]);
    expect(state.tables.laterChanges()).toMatchObject([{ index: 2, version: 104n }]);
    expect(state.tables.changedRows()).toHaveLength(3);
  });

  test('distinguish new tables from existing ones, even if they change again', () => {
    const state = given();
    when(state, create(few(one)), at(100n));
    const made = state.tables.table('made')!;
    change(state, [{ kind: 'table', table: { ...made, version: 101n } }]);
    expect(state.tables.newTables()).toMatchObject([{ id: 'made', version: 101n }]);
    expect(state.tables.changedTables()).toEqual([]);
  });

  test('are none after refusals and requests that change nothing', () => {
    const state = given({ block: [one] });
    when(state, add(few('{"a":"x"}')));
    when(state, patch(blockRow(0), one));
    when(state, remove(blockRow(9)));
    expect(
      Object.entries(models).flatMap(([name, model]) => model.store(state[name as keyof States] as never)),
    ).toEqual([]);
  });

  test('contain the files that rows name in the end, and those that no row names any more', () => {
    const file = (letter: string): string => letter.repeat(22);
    const naming = (...letters: readonly string[]): string =>
      JSON.stringify({ b: letters.map((letter) => `/files/${file(letter)}`).join(' ') });
    const state = given({ block: [naming('x', 'y'), one, naming('x')] });
    when(state, patch(blockRow(0), naming('y', 'z')), at(100n));
    when(state, patch(blockRow(1), naming('x')), at(101n));
    when(state, patch(blockRow(1), '{"b":"nothing"}'), at(102n));
    when(state, remove(blockRow(2)), at(103n));
    const { patched } = state.uploads;
    expect(patched.named()).toMatchObject([
      { index: 0, file: file('y') },
      { index: 0, file: file('z') },
    ]);
    expect(patched.gone()).toMatchObject([
      { index: 0, file: file('x') },
      { index: 2, file: file('x') },
    ]);
  });
});

describe('a missing look-up is a bug, never an answer:', () => {
  const state = given({ tail: [one], tailExtent: { rows: 2 } });
  const table = state.tables.table('table')!;

  test.each<[string, () => unknown, string]>([
    [
      'a schema',
      () => state.tables.schema({ ...table, schemaVersion: 99n }),
      'the schema 99 of table table was not loaded',
    ],
    ['an extent', () => state.tables.extent(77n), 'extent 77 was not loaded'],
    [
      'a row',
      () => state.tables.row(table, { version: 30n, ordinal: 0, index: 1 }),
      'row 1 of extent 3 was not loaded',
    ],
    ['a segment', () => state.segments.key('unknown'), 'segment unknown was not written'],
  ])('it is a bug to look up %s', (_name, look, message) => expect(look).toThrow(message));

  test.each<[string, () => unknown]>([
    ['a team', () => state.teams.team('unknown')],
    ['a token', () => state.teams.token('unknown')],
    ['a table', () => state.tables.table('unknown')],
    ['an extent of a row', () => state.tables.row(table, { version: 31n, ordinal: 0, index: 0 })],
  ])('%s may be unknown', (_name, look) => expect(look()).toBeNull());
});

test('extents of two tables in different partitions may have the same version', () => {
  const state = given({ block: [one] });
  const extent = state.tables.extent(1n);
  state.tables.putExtent({ ...extent, key: 99n, tableId: 'another' });
  expect(state.tables.extentOf('table', extent)).toMatchObject({ key: 1n });
  expect(state.tables.extentOf('another', extent)).toMatchObject({ key: 99n });
});

describe('data that is loaded while the previous batch may or may not be visible', () => {
  test('never replaces an extent in the state, and counts once', () => {
    const state = given({ tail: [one] });
    when(state, add(few(one)), at(100n));
    const { extent, ...row } = state.tables.findRow(3n, 0)!;
    state.tables.putRow({ ...row, extent: { ...extent, rows: 1 } });
    expect(state.tables.extent(3n)).toMatchObject({ rows: 2 });
    const arrived = {
      bodyId: 'body',
      number: 0,
      teamId: 'team',
      segment: 9n,
      profile: emptyProfile,
      ids: null,
      time: 1,
    };
    state.segments.putBodyBlock(arrived);
    state.segments.putBodyBlock({ ...arrived });
    expect(state.segments.bodyBlocks('team', 'body')).toEqual([arrived]);
  });
});
