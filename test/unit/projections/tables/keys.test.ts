/** Keys (docs/decisions/0078): which writes would make two rows equal, and who has which key after each. */
import { describe, expect, test } from '@jest/globals';

import { given, here, partsOf, tailRow, when, whenInOrder, type Given } from '../../../support/decisions.ts';
import {
  add,
  batchOf,
  block,
  create,
  few,
  overwrite,
  patch,
  patchTable,
  remove,
  removeTable,
} from '../../../support/requests.ts';
import { shownOutcome } from '../../../support/shown-decisions.ts';
import { formatRowId } from '../../../../src/language/events/row-id.ts';
import type { Request } from '../../../support/requests.ts';
import { loadKeys } from '../../../../projections/tables/keys/load-keys.ts';
import type { LoadingTables } from '../../../../projections/tables/load-tables.ts';
import type { States } from '../../../../projections/models.ts';

const at = (version: bigint): typeof here => ({ ...here, version });
const idOf = (index: number): string => formatRowId(tailRow(index));

/** A table with a key and these rows in its tail, of which all keys are loaded; and keys that no row has. */
function keyed(rows: readonly string[], { free = [], ...others }: Given & { free?: readonly string[] } = {}): States {
  const state = given({ schema: 'a:number b:string c:date', tail: rows, key: ['a'], ...others });
  const index = { tableId: 'table', since: 10n };
  for (const text of free) state.tables.keys.put(index, text, null);
  return state;
}

const outcome = (state: States, request: Request, version = 100n): string =>
  shownOutcome(when(state, request, at(version)).outcome);

describe('a row is refused if another row has its key', () => {
  test.each<[string, Given, readonly string[], Request, string]>([
    [
      'of another notation of the number',
      {},
      ['{"a":1}'],
      add(few('{"a":1.0}')),
      `rows[0]: row ${idOf(0)} has the same key, "a" = 1.0`,
    ],
    [
      'later in the body',
      {},
      ['{"a":1}'],
      add(few('{"b":"x"}', '{"a":1}')),
      `rows[1]: row ${idOf(0)} has the same key, "a" = 1`,
    ],
    [
      'within the body',
      {},
      [],
      add(few('{"a":2}', '{"a":3}', '{"a":2}')),
      'rows[2]: rows[0] has the same key, "a" = 2',
    ],
    ['within a block', {}, [], add(block('{"a":2}', '{"a":2}')), 'rows[1]: rows[0] has the same key, "a" = 2'],
    [
      'in all columns of the key',
      { key: ['b', 'a'] },
      ['{"a":1,"b":"x"}'],
      add(few('{"a":1,"b":"x"}')),
      `rows[0]: row ${idOf(0)} has the same key, "b" = "x", "a" = 1`,
    ],
    [
      'by a patch',
      {},
      ['{"a":1}', '{"a":2}'],
      patch(tailRow(1), '{"a":1}'),
      `row ${idOf(1)}: row ${idOf(0)} has the same key, "a" = 1`,
    ],
  ])('a key that another row has is refused: %s', (_, others, rows, request, message) => {
    const state = keyed(rows, {
      ...others,
      free: ['["1"]', '["2"]', '["3"]'].filter((text) => !rows.some((row) => row.includes(text.slice(2, -2)))),
    });
    expect(outcome(state, request)).toBe(`key_not_unique: ${message}`);
  });
});

describe('a row is accepted', () => {
  test.each<[string, Given, readonly string[], Request]>([
    ['if its key is empty, as that of another row', {}, ['{"b":"x"}'], add(few('{"b":"x"}', '{}'))],
    [
      'if one column of its key differs',
      { key: ['a', 'b'] },
      ['{"a":1,"b":"x"}'],
      add(few('{"a":1,"b":"y"}', '{"a":1}')),
    ],
    ['if a patch leaves its key', {}, ['{"a":1}'], patch(tailRow(0), '{"a":1.0,"b":"y"}')],
    ['if a patch empties its key', {}, ['{"a":1}'], patch(tailRow(0), '{"a":null}')],
  ])('a row is accepted %s', (_, others, rows, request) => {
    const state = keyed(rows, { ...others, free: ['["1","y"]'] });
    expect(outcome(state, request)).toMatch(/^ok/);
  });

  test('with a key that an earlier row has given up', () => {
    const state = keyed(['{"a":1}', '{"a":2}'], { free: ['["3"]'] });
    expect(outcome(state, patch(tailRow(0), '{"a":3}'), 100n)).toBe('ok 100');
    expect(outcome(state, add(few('{"a":1}')), 101n)).toBe('ok 101');
    expect(outcome(state, remove(tailRow(1)), 102n)).toBe('ok 102');
    expect(outcome(state, patch(tailRow(0), '{"a":2}'), 103n)).toBe('ok 103');
    expect(outcome(state, add(few('{"a":3}')), 104n)).toBe('ok 104');
    expect(outcome(state, add(few('{"a":2}')), 105n)).toBe(
      `key_not_unique: rows[0]: row ${idOf(0)} has the same key, "a" = 2`,
    );
    const { keys } = state.tables;
    expect(keys.movedKeys()).toMatchObject([{ text: '["1"]' }, { text: '["2"]', holder: { index: 0 } }]);
    expect(keys.newKeys()).toMatchObject([{ text: '["3"]' }]);
    expect(keys.freedKeys()).toEqual([]);
  });
});

test('the type of a key column stays, also under updateSchema', () => {
  const state = keyed(['{"a":1}']);
  const message = 'column_has_invalid_value: rows[0].a: "x" does not fit the column\'s type number';
  expect(outcome(state, add(few('{"a":"x"}'), { mode: 'updateSchema' }))).toBe(message);
  expect(outcome(state, add(few('{"b":"x","d":1}'), { mode: 'updateSchema' }))).toBe('ok 100');
});

describe('a key', () => {
  test.each<[string, Request, string]>([
    ['is declared with a table', create(few('{"a":1}', '{"a":2}'), { schema: 'a:number', key: ['a'] }), 'ok 100'],
    [
      'holds for its first rows',
      create(few('{"a":1}', '{"a":1.00}'), { schema: 'a:number', key: ['a'] }),
      'key_not_unique: rows[1]: rows[0] has the same key, "a" = 1.00',
    ],
    [
      'needs columns that are there',
      create(few(), { schema: 'a:number', key: ['b'] }),
      'column_id_not_found: schema.key[0]: the table has no column "b"',
    ],
    [
      'names each column once',
      create(few(), { schema: 'a:number', key: ['a', 'a'] }),
      'column_id_not_unique: schema.key[1]: the column "a" occurs twice',
    ],
    [
      'has no column of JSON',
      create(few(), { schema: 'a:json', key: ['a'] }),
      'request_validation_error: schema.key[0]: the column "a" is json; a key has columns of scalar types',
    ],
    [
      'has no column of arrays',
      create(few(), { schema: 'a:array<number>', key: ['a'] }),
      'request_validation_error: schema.key[0]: the column "a" is array<number>; a key has columns of scalar types',
    ],
    ['is declared of a table without rows', patchTable({ key: ['a', 'b'] }), 'ok 100'],
    ['that a table does not have can be removed', patchTable({ key: null }), 'ok 50'],
  ])('a key %s', (_, request, shown) => {
    expect(outcome(given(), request)).toBe(shown);
  });

  test('can be removed, and then rows may be equal', () => {
    const state = keyed(['{"a":1}']);
    expect(outcome(state, patchTable({ key: null }), 100n)).toBe('ok 100');
    expect(outcome(state, add(few('{"a":1}')), 101n)).toBe('ok 101');
    expect(state.tables.table('table')).toMatchObject({ keyColumns: null, keySince: null });
    expect(state.tables.keys.endedKeys).toEqual([{ tableId: 'table', since: 10n }]);
  });

  test('stays if an overwrite brings no schema, and then applies to the new rows alone', () => {
    const state = keyed(['{"a":1}']);
    expect(outcome(state, overwrite(few('{"a":1}')), 100n)).toBe('ok 100');
    expect(state.tables.table('table')).toMatchObject({ keyColumns: '["a"]', keySince: 100n });
    expect(outcome(state, add(few('{"a":1}')), 101n)).toMatch(/^key_not_unique/);
    expect(outcome(state, overwrite(few('{"a":1}', '{"a":1}')), 102n)).toMatch(/^key_not_unique/);
  });

  test('is removed with the schema that an overwrite replaces', () => {
    const state = keyed(['{"a":1}']);
    expect(outcome(state, overwrite(few('{"a":1}', '{"a":1}'), { schema: 'a:number' }), 100n)).toBe('ok 100');
    expect(state.tables.table('table')).toMatchObject({ keyColumns: null, keySince: null });
  });

  test('ends with its table', () => {
    const state = keyed(['{"a":1}']);
    when(state, removeTable());
    expect(state.tables.keys.endedKeys).toEqual([{ tableId: 'table', since: 10n }]);
  });
});

test('one look-up finds the keys of all operations of a batch, even if they patch a row repeatedly', async () => {
  const state = keyed(['{"a":1,"b":"x"}', '{"a":2,"b":"x"}'], { key: ['a', 'b'] });
  const batch = batchOf([
    ['patch', tailRow(0), '{"a":5}'],
    ['patch', tailRow(0), '{"b":"y"}'],
    ['patch', tailRow(1), '{"b":"y","c":"2026-01-01"}'],
    ['patch', tailRow(1), '{"c":null}'],
    ['patch', tailRow(1), '{"a":5.0,"b":"z"}'],
    ['add', '{"a":1,"b":"x"}'],
  ]);
  let lookUps = 0;
  const noRows = async (): Promise<unknown> => {
    lookUps += 1;
    return { rows: [] };
  };
  const load = (events: LoadingTables['events']): Promise<void> =>
    loadKeys({ tx: { query: noRows }, events, states: state, before: null } as unknown as LoadingTables);
  await load(partsOf(batch));
  const decided = await whenInOrder(state, batch, here, (part) => load([part]));
  expect([decided.status, lookUps]).toEqual(['applied', 1]);
});
