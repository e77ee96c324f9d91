/** The state of a batch: events see what earlier ones changed, and each thing that changed is stored once. */
import { describe, expect, test } from '@jest/globals';

import { BatchMemory } from '../../../projections/batch-memory.ts';
import { BatchState } from '../../../projections/batch-state.ts';
import type { Table } from '../../../projections/decision.ts';
import type { RecordedOutcome } from '../../../projections/outcomes/outcomes.store.ts';
import { emptyProfile } from '../../../src/schema/build-profile.ts';
import { blockRow, given, here, tailRow, when } from '../../support/decisions.ts';
import { add, block, create, few, patch, remove } from '../../support/requests.ts';

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
    const { teams, tokens, tables, newTables, links, stashes, uploads, rows, chunks, references, ...lists } = state.changed;
    expect([teams, tokens, tables, newTables, links, stashes, uploads].map((changed) => changed.size)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect([rows.values(), chunks.values(), references.named(), references.gone(), ...Object.values(lists)].flat()).toEqual([]);
  });

  test('knows what files rows name in the end, and which no longer', () => {
    const file = (letter: string): string => letter.repeat(22);
    const naming = (...letters: readonly string[]): string => JSON.stringify({ b: letters.map((letter) => `/files/${file(letter)}`).join(' ') });
    const state = given({ block: [naming('x', 'y'), one, naming('x')] });
    when(state, patch(blockRow(0), naming('y', 'z')), at(100n));
    when(state, patch(blockRow(1), naming('x')), at(101n));
    when(state, patch(blockRow(1), '{"b":"nothing"}'), at(102n));
    when(state, remove(blockRow(2)), at(103n));
    const { references } = state.changed;
    expect(references.named()).toMatchObject([{ index: 0, file: file('y') }, { index: 0, file: file('z') }]);
    expect(references.gone()).toMatchObject([{ index: 0, file: file('x') }, { index: 2, file: file('x') }]);
  });
});

describe('what was not fetched is a bug, never an answer:', () => {
  const state = given({ tail: [one], tailLink: { rows: 2 } });
  const table = state.table('table')!;

  test.each<[string, () => unknown, string]>([
    ['a schema', () => state.schema({ ...table, schemaVersion: 99n }), 'the schema 99 of table table was not fetched'],
    ['a link', () => state.link(77n), 'link 77 was not fetched'],
    ['a row', () => state.row(table, { version: 30n, ordinal: 0, index: 1 }), 'row 1 of link 3 was not fetched'],
    ['a segment', () => state.segment('unknown'), 'segment unknown was not written'],
  ])('%s', (_name, look, message) => expect(look).toThrow(message));

  test.each<[string, () => unknown]>([
    ['a team', () => state.team('unknown')], ['a token', () => state.token('unknown')],
    ['a table', () => state.table('unknown')], ['a link of a row', () => state.row(table, { version: 31n, ordinal: 0, index: 0 })],
  ])('but %s may be unknown', (_name, look) => expect(look()).toBeNull());
});

test('links of two tables may have one version: those of another partition do', () => {
  const state = given({ block: [one] });
  const link = state.link(1n);
  state.putLink({ ...link, key: 99n, tableId: 'another' });
  expect(state.linkOf('table', link)).toMatchObject({ key: 1n });
  expect(state.linkOf('another', link)).toMatchObject({ key: 99n });
});

describe('what one batch remembers for the next', () => {
  const nothingNew = new Map<string, RecordedOutcome>();
  const remember = (state: BatchState, before: BatchMemory | null = null): BatchMemory =>
    new BatchMemory(state, nothingNew, before);

  test('is each table with its team and schema', () => {
    const state = given({ schema: 'a:number' });
    when(state, add(few(one)), at(100n));
    expect(remember(state).table('table')).toMatchObject({
      table: { version: 100n, rows: 1 }, team: { rows: 1 }, schema: { columns: [{ id: 'a' }] },
    });
    expect(remember(state).table('unknown')).toBeNull();
  });

  test('is its links, by key and by what they brought', () => {
    const memory = remember(given({ block: [one, one], tail: [one] }));
    expect(memory.linkOf('table', blockRow(1))).toMatchObject({ version: 20n, rows: 2 });
    expect(memory.linkOf('table', tailRow(0))).toMatchObject({ version: 30n });
    expect(memory.link(3n)).toMatchObject({ version: 30n });
    expect(memory.linkOf('table', { ...blockRow(0), ordinal: 1 })).toBeNull();
    expect(memory.linkOf('unknown', blockRow(0))).toBeNull();
    expect(memory.link(99n)).toBeNull();
  });

  test('is all of the last batch, until that is visible', () => {
    const state = given({ block: [one] });
    when(state, patch(blockRow(0), '{"a":2}'), at(100n));
    const recorded = { commandId: 'c', offset: 5n, time: 1, outcome: { status: 'applied', result: {} } } as const;
    const memory = new BatchMemory(state, new Map([['c', recorded]]), null);
    expect(memory.last?.findRow(1n, 0)).toMatchObject({ version: 100n, body: '{"a":2}' });
    expect(memory.outcome('c')).toBe(recorded);
    expect(memory.outcome('other')).toBeNull();
    memory.forgetLast();
    expect(memory.last).toBeNull();
    expect(memory.outcome('c')).toBeNull();
    expect(memory.table('table')).not.toBeNull();
  });

  test('is handed on, and replaced by what is newer', () => {
    const state = given({ block: [one] });
    const first = remember(state);
    when(state, add(block(one)), at(101n));
    const second = remember(state, remember(new BatchState(() => 1n), first));
    expect(second.table('table')?.table).toMatchObject({ version: 101n, rows: 2 });
    expect(second.linkOf('table', blockRow(0))).not.toBeNull();
    expect(second.linkOf('table', { version: 101n, ordinal: 0 })).not.toBeNull();
  });

  test('has the team as it is now, for all of its tables', () => {
    const state = given();
    const table = state.table('table')!;
    state.putTable({ ...table, id: 'second' });
    state.putSchema({ tableId: 'second', version: table.schemaVersion, schema: state.schema(table) });
    const first = remember(state);
    const next = given();
    next.apply([{ kind: 'team', team: { ...next.team('team')!, suspended: true } }]);
    expect(remember(next, first).table('second')?.team).toMatchObject({ suspended: true });
  });

  test('is forgotten when it is too many links', () => {
    const state = given({ block: [one] });
    const link = state.link(1n);
    for (let key = 0n; key < 10_000n; key += 1n) state.putLink({ ...link, key, version: 1000n + key });
    const full = remember(state);
    expect(full.linkOf('table', blockRow(0))).toBeNull();
    expect(full.linkOf('table', { version: 2000n, ordinal: 0 })).not.toBeNull();
    expect(remember(new BatchState(() => 1n), full).linkOf('table', { version: 2000n, ordinal: 0 })).toBeNull();
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
    expect(full.table('table 0')).not.toBeNull();
    expect(remember(new BatchState(() => 1n), full).table('table 0')).toBeNull();
  });
});

describe('what is fetched while the batch before may be visible or not', () => {
  test('never takes the place of a link that is here, and is counted once', () => {
    const state = given({ tail: [one] });
    when(state, add(few(one)), at(100n));
    const { link, ...row } = state.findRow(3n, 0)!;
    state.putRow({ ...row, link: { ...link, rows: 1 } });
    expect(state.link(3n)).toMatchObject({ rows: 2 });
    const arrived = { bodyId: 'body', number: 0, teamId: 'team', segment: 9n, profile: emptyProfile, ids: null, time: 1 };
    state.putBodyBlock(arrived);
    state.putBodyBlock({ ...arrived });
    expect(state.bodyBlocks('team', 'body')).toEqual([arrived]);
  });
});
