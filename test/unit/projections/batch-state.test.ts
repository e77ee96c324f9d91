/** The state of a batch: events see what earlier ones changed, and each thing that changed is stored once. */
import { describe, expect, test } from '@jest/globals';

import { BatchMemory } from '../../../projections/batch-memory.ts';
import { BatchState } from '../../../projections/batch-state.ts';
import type { Table } from '../../../projections/decision.ts';
import {
  add, block, blockRow, create, few, given, here, patch, remove, shown, tailRow, when,
} from '../../support/decisions.ts';

const one = '{"a":1}';
const at = (version: bigint): typeof here => ({ ...here, version });

describe('what is to be stored', () => {
  test('is the net change of all events', () => {
    const state = given({ block: [one] });
    when(state, add(few(one)), at(100n));
    when(state, add(few('{"a":2}')), at(101n));
    when(state, patch(blockRow(0), '{"a":3}'), at(102n));
    when(state, patch(blockRow(0), '{"a":4}'), at(103n));
    expect(state.changedTables()).toMatchObject([{ id: 'table', version: 103n, rows: 3 }]);
    expect(state.changedTeams()).toMatchObject([{ id: 'team', rows: 3 }]);
    expect(state.changedLinks()).toMatchObject([{ version: 100n, rows: 2 }, { version: 20n, changed: true }]);
    expect(state.changedRows()).toMatchObject([{ index: 0, version: 103n, body: '{"a":4}' }]);
    expect(state.changed.tailRows).toMatchObject([
      { index: 0, version: 100n, body: one }, { index: 1, version: 101n, body: '{"a":2}' },
    ]);
    expect(state.newTables()).toEqual([]);
  });

  test('keeps new tables apart from those that were there, also when they change again', () => {
    const state = given();
    when(state, create(few(one)), at(100n));
    const made = state.table('made')!;
    state.apply([{ kind: 'table', table: { ...made, version: 101n } }]);
    expect(state.newTables()).toMatchObject([{ id: 'made', version: 101n }]);
    expect(state.changedTables()).toEqual([]);
  });

  test('is nothing after refusals and requests that move nothing', () => {
    const state = given({ block: [one] });
    when(state, add(few('{"a":"x"}')));
    when(state, patch(blockRow(0), one));
    when(state, remove(blockRow(9)));
    const { teams, tokens, tables, newTables, links, rows, ...lists } = state.changed;
    expect([teams, tokens, tables, newTables, links, rows].map((changed) => changed.size)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(Object.values(lists).flat()).toEqual([]);
  });
});

describe('what was not fetched is a bug, never an answer:', () => {
  const state = given({ tail: [one], tailLink: { rows: 2 } });
  const table = state.table('table')!;

  test.each<[string, () => unknown, string]>([
    ['a schema', () => state.schema({ ...table, schemaVersion: 99n }), 'the schema 99 of table table was not fetched'],
    ['a link', () => state.link(77n), 'link 77 was not fetched'],
    ['a row', () => state.row(table, 30n, 0, 1), 'row 1 of link 3 was not fetched'],
    ['a segment', () => state.segment('unknown'), 'segment unknown was not written'],
  ])('%s', (_name, look, message) => expect(look).toThrow(message));

  test.each<[string, () => unknown]>([
    ['a team', () => state.team('unknown')], ['a token', () => state.token('unknown')],
    ['a table', () => state.table('unknown')], ['a link of a row', () => state.row(table, 31n, 0, 0)],
  ])('but %s may be unknown', (_name, look) => expect(look()).toBeNull());
});

describe('what one batch remembers for the next', () => {
  /** The state that the next batch begins with, and whether all that it needs was remembered. */
  function recall(memory: BatchMemory, tableId: string, needsTail: boolean): [BatchState, boolean] {
    const state = new BatchState(() => 5000n);
    return [state, memory.recall(tableId, state, needsTail)];
  }

  function remember(state: BatchState, before: BatchMemory | null = null): BatchMemory {
    const memory = new BatchMemory(91n, before);
    state.keepIn(memory);
    return memory;
  }

  test('is enough to decide by', () => {
    const first = given({ schema: 'a:number b:string' });
    when(first, add(few(one)), at(100n));
    const [next, known] = recall(remember(first), 'table', true);
    expect(known).toBe(true);
    expect(shown(when(next, add(few('{"b":"x"}')), at(101n)), at(101n)))
      .toBe('ok 101 | table 2 open | link 100 2 by 10 plain | rows 100[1] {"b":"x"} | team 2');
  });

  test('is all of it or nothing', () => {
    const [state, known] = recall(remember(given()), 'unknown', false);
    expect(known).toBe(false);
    expect(state.table('unknown')).toBeNull();
  });

  test('may lack the tail, until that is asked for', () => {
    const state = given();
    state.putTable({ ...state.table('table')!, tail: 3n });
    const memory = remember(state);
    expect(recall(memory, 'table', true)[1]).toBe(false);
    expect(recall(memory, 'table', false)[1]).toBe(true);
  });

  test('has the links of its rows, as long as they are', () => {
    const memory = remember(given({ block: [one, one], tail: [one] }));
    expect(memory.linkOf('table', blockRow(1))).toMatchObject({ version: 20n, rows: 2 });
    expect(memory.linkOf('table', tailRow(0))).toMatchObject({ version: 30n });
    expect(memory.linkOf('table', blockRow(2))).toBeNull();
    expect(memory.linkOf('table', { ...blockRow(0), ordinal: 1 })).toBeNull();
    expect(memory.linkOf('unknown', blockRow(0))).toBeNull();
  });

  test('is handed on and replaced by what is newer', () => {
    const state = given({ block: [one] });
    const first = remember(state);
    const [next] = recall(first, 'table', false);
    when(next, add(block(one)), at(101n));
    const second = remember(next, first);
    expect(second.next).toBe(91n);
    expect(recall(second, 'table', false)[0].table('table')).toMatchObject({ version: 101n, rows: 2 });
    expect(second.linkOf('table', blockRow(0))).not.toBeNull();
    expect(second.linkOf('table', { version: 101n, ordinal: 0, index: 0 })).not.toBeNull();
  });

  test('has the team as it is now, for all of its tables', () => {
    const state = given();
    const table = state.table('table')!;
    const schema = state.schema(table);
    state.putTable({ ...table, id: 'second' });
    state.putSchema({ tableId: 'second', version: table.schemaVersion, schema });
    const first = remember(state);
    const [next] = recall(first, 'second', false);
    next.apply([{ kind: 'team', team: { ...next.team('team')!, suspended: true } }]);
    const second = remember(next, first);
    expect(recall(second, 'table', false)[0].team('team')).toMatchObject({ suspended: true });
  });

  test('is forgotten when it is too many links', () => {
    const state = given({ block: [one] });
    const link = state.link(1n);
    for (let key = 0n; key < 10_000n; key += 1n) state.putLink({ ...link, key, version: key });
    const full = remember(state);
    expect(full.linkOf('table', blockRow(0))).not.toBeNull();
    expect(remember(new BatchState(() => 1n), full).linkOf('table', blockRow(0))).toBeNull();
  });

  test('is forgotten when it is too many tables', () => {
    const state = given();
    const table: Table = state.table('table')!;
    const schema = state.schema(table);
    for (let count = 0; count < 1000; count += 1) {
      state.putTable({ ...table, id: `table ${count}` });
      state.putSchema({ tableId: `table ${count}`, version: table.schemaVersion, schema });
    }
    const full = remember(state);
    expect(recall(full, 'table 0', false)[1]).toBe(true);
    const emptied = remember(new BatchState(() => 1n), full);
    expect(recall(emptied, 'table 0', false)[1]).toBe(false);
  });
});
