/**
 * Imports of stashes (spec 4.13, decisions 2, 3 and 6): which rows they bring, in which order, and where what offends
 * stands.
 */
import { describe, expect, test } from '@jest/globals';

import { blockRow, given, here, tailRow, when } from '../../../support/decisions.ts';
import { add, block, body, cells, create, noRows, overwrite, putChunk, stash } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { States } from '../../../../projections/models.ts';
import { formatRowId, type RowAddress } from '../../../../src/language/events/row-id.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Asked, Request, Rows } from '../../../support/requests.ts';

type Chunks = Readonly<Record<string, Rows>> | readonly (readonly [serial: string, rows: Rows])[];

const one = '{"a":1}';
const rowsOf = (count: number): string[] => Array.from({ length: count }, () => one);
const blockOf = (count: number): Rows => block(...rowsOf(count));

/** The state with a stash of these chunks, which came in this order. */
function holding(chunks: Chunks, state: Given = {}): States {
  const made = given(state);
  const entries = Array.isArray(chunks)
    ? (chunks as readonly (readonly [string, Rows])[])
    : Object.entries(chunks as Readonly<Record<string, Rows>>);
  entries.forEach(([serial, rows], at) =>
    when(made, putChunk(rows, serial, { profiledColumnsMax: 1e6 }), { ...here, version: 60n + BigInt(at) }),
  );
  return made;
}

const withId = (id: RowAddress, text = one): string => `{"$rowID":"${formatRowId(id)}",${text.slice(1)}`;

describe('the order of chunks', () => {
  /** Each serial with as many rows as its place in the expected order, sent in another order. */
  test.each<readonly [string, readonly string[]]>([
    ['of numbers', ['0', '1', '2', '9', '10', '11', '100', '99999999999999999999999']],
    ['of numbers beyond what a double holds', ['9007199254740992', '9007199254740993', '90071992547409930']],
    [
      'of equal numbers by code point',
      ['000', '00', '0', '007', '07', '7', '8'].toSorted((a, b) => Number(a) - Number(b) || (a < b ? -1 : 1)),
    ],
    ['of words by code point', ['A', 'B', 'a', 'a-', 'a0', 'a_', 'b']],
    ['of numbers beside a word by code point', ['1', '10', '11', '2', '9', 'a']],
    ['of numbers with a dash by code point', ['1', '1-0', '10', '2']],
    ['of 256 characters', ['1', `${'0'.repeat(255)}2`, '3', '9'.repeat(256)]],
  ])('chunks have the order %s', (_name, serials) => {
    const sent = serials.map((serial, at) => [serial, blockOf(at + 1)] as const);
    for (const order of [
      sent,
      sent.toReversed(),
      sent.toSorted(([a], [b]) => (a.length - b.length) * 7 + (a < b ? 1 : -1)),
    ]) {
      const { changes } = when(holding(order), add(stash));
      expect(
        changes.flatMap((change) => (change.kind === 'extent' ? [[change.extent.ordinal, change.extent.rows]] : [])),
      ).toEqual(serials.map((_, at) => [at, at + 1]));
    }
  });

  test('is by code point unless all serials are integers', () => {
    const chunks = [
      ['10', blockOf(1)],
      ['9', blockOf(2)],
    ] as const;
    expect(shown(when(holding(chunks), add(stash)))).toContain('extent 100 2 by 10 plain | extent 100.1 1 by 10 plain');
    expect(shown(when(holding([...chunks, ['w', noRows]]), add(stash)))).toContain(
      'extent 100 1 by 10 plain | extent 100.1 2 by 10 plain',
    );
  });
});

type Case = readonly [name: string, chunks: Chunks, request: Request, outcome: string, state?: Given];

function check(_name: string, chunks: Chunks, request: Request, outcome: string, state: Given = {}): void {
  expect(shown(when(holding(chunks, state), request))).toBe(outcome);
}

describe('the rows of a stash', () => {
  const ended = 'generation 10 ended by 100';

  test.each<Case>([
    [
      'are added, an extent for each block',
      { 2: body([0, one], [0, one, one]), 1: block(one) },
      add(stash),
      'ok 100 | table 4 | extent 100 1 by 10 plain | extent 100.1 1 by 10 plain | extent 100.2 2 by 10 plain | team 4',
    ],
    [
      'close the tail',
      { 1: block(one) },
      add(stash),
      'ok 100 | table 2 | extent 100 1 by 10 plain | team 2',
      { tail: [one] },
    ],
    [
      'are added without those that were replaced',
      [
        ['1', blockOf(3)],
        ['1', blockOf(2)],
        ['2', noRows],
      ],
      add(stash),
      'ok 100 | table 2 | extent 100 2 by 10 plain | team 2',
    ],
    [
      'are the rows of a new table',
      { 1: block(one), 2: block('{"b":"x"}') },
      create(stash),
      'ok 100 | table 2 new schema | schema a:number b:string | extent 100 1 by 100 plain | extent 100.1 1 by 100 plain | team 2'.replaceAll(
        'plain',
        'plain wrap',
      ),
    ],
    [
      'take the place of others',
      { 1: block(one), 2: block(one) },
      overwrite(stash),
      `ok 100 | table 2 | ${ended} | team 0 | extent 100 1 by 10 plain | extent 100.1 1 by 10 plain | team 2`,
      { block: rowsOf(7) },
    ],
    ['that has none move nothing', { 1: noRows, 2: noRows }, add(stash), 'ok 50', { block: [one] }],
    ['that is headers only move nothing', { 1: cells('a,b'), 2: cells('b') }, add(stash), 'ok 50', { block: [one] }],
    [
      'that has none, and would have new columns, move nothing',
      { 1: cells('c') },
      add(stash, { mode: 'updateSchema' }),
      'ok 50',
    ],
    [
      'that has none empty a table',
      { 1: noRows },
      overwrite(stash),
      `ok 100 | table 0 | ${ended} | team 0`,
      { block: rowsOf(7) },
    ],
    ['that has none make an empty table', { 1: noRows }, create(stash), 'ok 100 | table 0 new schema | schema'],
    [
      'that is headers make an empty table',
      { 10: cells('c'), 9: cells('b,a') },
      create(stash),
      'ok 100 | table 0 new schema | schema b:string a:string c:string',
    ],
    [
      'bring columns in the order of appearance',
      { 1: cells('d'), 2: block('{"b":1,"c":1}'), 3: cells('z,a'), 4: block('{"e":1,"a":1}') },
      create(stash, { columnsMax: 9 }),
      'ok 100 | table 2 new schema | schema d:string b:number c:number z:string a:number e:number | extent 100 1 by 100 plain wrap | extent 100.1 1 by 100 wrap | team 2',
    ],
    [
      'are read by one schema, whatever each chunk holds',
      { 1: block('{"c":1}'), 2: block('{"c":"x"}'), 3: block('{"c":true}') },
      create(stash),
      'ok 100 | table 3 new schema | schema c:string | extent 100 1 by 100 wrap | extent 100.1 1 by 100 plain wrap | extent 100.2 1 by 100 wrap | team 3',
    ],
    [
      'widen the table',
      { 1: block(one), 2: block('{"a":"x"}') },
      add(stash, { mode: 'updateSchema' }),
      'ok 100 | table 2 new schema widened | schema a:string b:string | extent 100 1 by 100 wrap | extent 100.1 1 by 100 plain wrap | team 2',
    ],
    [
      'lose what does not fit',
      { 1: block(one), 2: block('{"a":"x","z":1}') },
      add(stash, { mode: 'dropColumns' }),
      'ok 100 | table 2 | extent 100 1 by 10 plain | extent 100.1 1 by 10 | team 2',
    ],
    [
      'may fill the table',
      { 1: block(one), 2: block(one) },
      add(stash, { rowsPerTableMax: 3 }),
      'ok 100 | table 3 | extent 100 1 by 10 plain | extent 100.1 1 by 10 plain | team 3',
      { block: [one] },
    ],
    [
      'may not be more',
      { 1: block(one), 2: block(one) },
      add(stash, { rowsPerTableMax: 2 }),
      'limit_exceeded: the table would hold more than 2 rows',
      { block: [one] },
    ],
    [
      'count to the plan',
      { 1: block(one), 2: block(one) },
      add(stash),
      "payment_required: the team's plan allows 4 rows and 3 are in use",
      { block: [one], otherRows: 2, rowsMax: 4 },
    ],
    [
      'count to the plan of a new table',
      { 1: block(one), 2: block(one) },
      create(stash),
      "payment_required: the team's plan allows 4 rows and 3 are in use",
      { otherRows: 3, rowsMax: 4 },
    ],
    [
      'need no room in the plan where they are not shown',
      { 1: blockOf(9) },
      add(noRows),
      'ok 50',
      { otherRows: 1, rowsMax: 1 },
    ],
  ])('the rows of a stash %s', check);

  test('can be imported repeatedly, each time as new rows', () => {
    const state = holding({ 1: block(one), 2: block(one, one) });
    const segments: unknown[] = [];
    for (const version of [100n, 101n, 102n]) {
      const at = { ...here, version };
      const { changes, outcome } = when(state, version === 102n ? create(stash) : add(stash), at);
      expect(outcome).toMatchObject({
        result: {
          rows: [
            { version, ordinal: 0, first: 0, count: 1 },
            { version, ordinal: 1, first: 0, count: 2 },
          ],
        },
      });
      segments.push(changes.flatMap((change) => (change.kind === 'extent' ? [change.extent.segment] : [])));
    }
    expect(segments[1]).toEqual(segments[0]);
    expect(segments[2]).toEqual(segments[0]);
    expect(state.tables.table('table')).toMatchObject({ rows: 6 });
    expect(state.teams.team('team')).toMatchObject({ rows: 9 });
  });

  test.each<readonly [string, Chunks, object[]]>([
    [
      'as many in each extent',
      { 1: blockOf(2), 2: blockOf(2), 3: blockOf(2) },
      [{ version: 100n, ordinal: 0, first: 0, count: 2, extents: 3 }],
    ],
    ['one extent', { 1: blockOf(2) }, [{ version: 100n, ordinal: 0, first: 0, count: 2 }]],
    [
      'a shorter one at the end',
      { 1: blockOf(2), 2: blockOf(2), 3: blockOf(1) },
      [
        { version: 100n, ordinal: 0, first: 0, count: 2, extents: 2 },
        { version: 100n, ordinal: 2, first: 0, count: 1 },
      ],
    ],
    [
      'a shorter one between',
      { 1: blockOf(2), 2: blockOf(1), 3: noRows, 4: blockOf(2), 5: blockOf(2) },
      [
        { version: 100n, ordinal: 0, first: 0, count: 2 },
        { version: 100n, ordinal: 1, first: 0, count: 1 },
        { version: 100n, ordinal: 2, first: 0, count: 2, extents: 2 },
      ],
    ],
    ['none', { 1: noRows }, []],
  ])('are answered in ranges: %s', (_name, chunks, rows) => {
    const { outcome } = when(holding(chunks), add(stash));
    expect(outcome).toMatchObject({ status: 'applied', result: { rows } });
    if (outcome.status === 'applied') expect(outcome.result.rows).toEqual(rows);
  });

  test('the rows of extents with retained IDs have ranges of their own', () => {
    const state = holding(
      { 1: block(one), 2: block(withId(blockRow(0))), 3: block(withId(blockRow(1))), 4: block(one) },
      { block: [one, one] },
    );
    expect(when(state, overwrite(stash)).outcome).toMatchObject({
      result: {
        rows: [
          { ordinal: 0, count: 1 },
          { ordinal: 1, count: 1, extents: 2, retainedIn: 'table' },
          { ordinal: 3, count: 1 },
        ],
      },
    });
  });
});

describe('an import is refused, in the order of the guards:', () => {
  const far: RowAddress = { version: 77n, ordinal: 0, index: 0 };
  const bad = { 1: block(one), 2: block(withId(far, '{"z":1}')) };
  const precondition = 'precondition_failed: the table has changed: its version is 50, not 49 or older';
  const twice = 'column_id_not_unique: schema.columns[1].id: the column ID "a" occurs twice';
  const unissued = `request_validation_error: chunk 2, rows[0].$rowID: "${formatRowId(far)}" is the ID of no row that this table ever had`;
  const asked: Asked & { schema: string } = { ifMatch: 49n, schema: 'a:number a:string' };

  test.each<Case>([
    ['no table', bad, overwrite(stash, asked), 'table_not_found: there is no such table', { owner: 'nobody' }],
    ['a suspended team', bad, overwrite(stash, asked), 'payment_required: the team is suspended', { suspended: true }],
    [
      'a suspended team, for a new table',
      bad,
      create(stash, { schema: 'a:number a:string' }),
      'payment_required: the team is suspended',
      { suspended: true },
    ],
    ['another version', bad, overwrite(stash, asked), precondition],
    ['another version, before no stash', {}, overwrite(stash, asked), precondition],
    ['another version, before no stash to add', {}, add(stash, { ifMatch: 49n }), precondition],
    [
      'no stash, before a wrong schema',
      {},
      overwrite(stash, { schema: 'a:number a:string' }),
      'stash_not_found: there is no stash stash',
    ],
    ['a wrong schema', bad, overwrite(stash, { schema: 'a:number a:string' }), twice],
    [
      'a wrong schema of a new table, also where there is no stash',
      {},
      create(stash, { schema: 'a:number a:string' }),
      twice,
    ],
    ['a row ID', bad, overwrite(stash), unissued],
    [
      'a cell',
      { 1: block(one), 2: block('{"z":1}') },
      overwrite(stash, { rowsPerTableMax: 0 }),
      'column_id_not_found: chunk 2, rows[0].z: the table has no column "z"',
    ],
    [
      'a limit',
      { 1: blockOf(2) },
      overwrite(stash, { rowsPerTableMax: 1 }),
      'limit_exceeded: the table would hold more than 1 rows',
      { rowsMax: 1 },
    ],
  ])('an import is refused for %s', check);

  test('a refused import changes nothing', () => {
    const state = holding(bad, { block: [one] });
    const before = [state.tables.table('table'), state.teams.team('team'), state.stashes.stash('team', 'stash')];
    expect(when(state, overwrite(stash)).changes).toEqual([]);
    expect([state.tables.table('table'), state.teams.team('team'), state.stashes.stash('team', 'stash')]).toEqual(
      before,
    );
  });
});

describe('the message names an error by chunk and row:', () => {
  const bad = '{"a":"x"}';
  const misfit = (place: string): string =>
    `column_has_invalid_value: ${place}.a: "x" does not fit the column's type number`;
  const unknown = (place: string, column: string): string =>
    `column_id_not_found: ${place}.${column}: the table has no column "${column}"`;

  test.each<Case>([
    [
      'in the last row of the last chunk',
      { 1: blockOf(3), 2: block(one, one, bad) },
      add(stash),
      misfit('chunk 2, rows[2]'),
    ],
    [
      'in a later block of a chunk',
      { 1: blockOf(3), 2: body([0, one, one], [0, one, bad]), 3: block(bad) },
      add(stash),
      misfit('chunk 2, rows[3]'),
    ],
    [
      'the first in the order of numbers',
      { 10: block(bad), 9: block(one, bad) },
      add(stash),
      misfit('chunk 9, rows[1]'),
    ],
    [
      'the first in the order of words',
      { 10: block(bad), 9: block(one, bad), w: noRows },
      add(stash),
      misfit('chunk 10, rows[0]'),
    ],
    [
      'in the order of equal numbers',
      { 7: block(bad), '007': block(one, bad) },
      add(stash),
      misfit('chunk 007, rows[1]'),
    ],
    [
      'beside chunks without rows',
      { 1: noRows, 2: blockOf(2), 3: noRows, 4: block(bad), 5: noRows },
      add(stash),
      misfit('chunk 4, rows[0]'),
    ],
    ['to overwrite', { 1: block(one), 2: block(bad) }, overwrite(stash), misfit('chunk 2, rows[0]')],
    ['to create', { 1: block(one), 2: block(bad) }, create(stash, { schema: 'a:number' }), misfit('chunk 2, rows[0]')],
    ['an unknown column', { 1: block(one), 2: block(one, '{"z":1}') }, add(stash), unknown('chunk 2, rows[1]', 'z')],
    [
      'a reserved column',
      { 1: block(one), 2: block('{"$stashID":1}') },
      create(stash),
      'column_id_reserved: chunk 2, rows[0].$stashID: the column ID "$stashID" is reserved',
    ],
    ['an unknown column of a header alone', { 1: cells('z') }, add(stash), unknown('chunk 1, rows[0]', 'z')],
    ['of a header alone behind rows', { 1: blockOf(2), 2: cells('a,z') }, add(stash), unknown('chunk 2, rows[0]', 'z')],
    [
      'of a header alone before a chunk with rows',
      { 1: blockOf(2), 2: cells('a,z'), 3: block('{"y":1}') },
      add(stash),
      unknown('chunk 2, rows[0]', 'z'),
    ],
    ['of the first of two headers', { 1: cells('a,y'), 2: cells('x,z') }, add(stash), unknown('chunk 1, rows[0]', 'y')],
    [
      'of the second of two headers',
      { 1: cells('a,b'), 2: cells('b,z,y'), 3: block('{"x":1}') },
      add(stash),
      unknown('chunk 2, rows[0]', 'z'),
    ],
    [
      'a value behind a header alone with its column',
      { 1: cells('a'), 2: block(bad) },
      add(stash),
      misfit('chunk 2, rows[0]'),
    ],
    [
      'an unknown column behind a header alone',
      { 1: cells('a'), 2: block('{"z":1}') },
      add(stash),
      unknown('chunk 2, rows[0]', 'z'),
    ],
  ])('a cell that offends is named: %s', check);

  const never = (place: string, id: RowAddress): string =>
    `request_validation_error: ${place}.$rowID: "${formatRowId(id)}" is the ID of no row that this table ever had`;
  const had: Given = { block: [one, one], tail: [one, one] };

  test.each<Case>([
    [
      'an ID that nobody issued',
      { 1: blockOf(2), 2: block(withId(blockRow(0)), withId(blockRow(2))) },
      overwrite(stash),
      never('chunk 2, rows[1]', blockRow(2)),
      had,
    ],
    [
      'an ID in two chunks',
      { 1: blockOf(2), 2: block(one, withId(tailRow(1))), 3: block(one, one, withId(tailRow(1))) },
      overwrite(stash),
      `request_validation_error: chunk 3, rows[2].$rowID: "${formatRowId(tailRow(1))}" occurs twice`,
      had,
    ],
    [
      'an ID twice in a chunk',
      { 1: block(one), 2: block(withId(tailRow(1)), withId(tailRow(1))) },
      overwrite(stash),
      `request_validation_error: chunk 2, rows[1].$rowID: "${formatRowId(tailRow(1))}" occurs twice`,
      had,
    ],
    [
      'what is no ID',
      { 1: block(one), 2: block('{"$rowID":7}') },
      overwrite(stash),
      "request_validation_error: chunk 2, rows[0].$rowID: it is no row's ID",
      had,
    ],
    [
      'an ID of another table',
      { 1: block(withId({ ...blockRow(0), ordinal: 3 })) },
      overwrite(stash),
      never('chunk 1, rows[0]', { ...blockRow(0), ordinal: 3 }),
      had,
    ],
  ])('a row ID that offends is named: %s', check);
});

describe('the row IDs in a stash', () => {
  const had: Given = { block: [one, one], tail: [one, one] };
  const chunks = { 1: block(one, withId(blockRow(1))), 2: block(withId(tailRow(0))), 3: block(one) };

  test.each<Case>([
    [
      'are kept on overwrite',
      chunks,
      overwrite(stash),
      'ok 100 | table 4 retains | generation 10 ended by 100 | team 0 | extent 100 2 by 10 plain retains | extent 100.1 1 by 10 plain retains | extent 100.2 1 by 10 plain | team 4',
      had,
    ],
    [
      'are not looked at by an add',
      chunks,
      add(stash),
      'ok 100 | table 8 | extent 100 2 by 10 plain | extent 100.1 1 by 10 plain | extent 100.2 1 by 10 plain | team 8',
      had,
    ],
    [
      'are not looked at by a create',
      { 1: block('{"$rowID":"x","a":1}') },
      create(stash),
      'ok 100 | table 1 new schema | schema a:number | extent 100 1 by 100 plain wrap | team 1',
    ],
  ])('row IDs that the rows of a stash have %s', check);

  test('are kept again by the next overwrite from the same stash', () => {
    const state = holding(chunks, had);
    when(state, overwrite(stash));
    const at = { ...here, version: 101n };
    expect(shown(when(state, overwrite(stash), at), at)).toContain(
      'extent 101 2 by 10 plain retains | extent 101.1 1 by 10 plain retains',
    );
  });

  test('are new if the first import issued them', () => {
    const state = holding({ 1: block(one) });
    when(state, add(stash));
    const at = { ...here, version: 101n };
    when(state, putChunk(block(withId({ version: 100n, ordinal: 0, index: 0 })), '1'), at);
    const next = { ...here, version: 102n };
    expect(shown(when(state, overwrite(stash), next), next)).toContain('extent 102 1 by 10 plain retains');
  });
});

test('a stash with too many different columns is not imported', () => {
  const wide = (chunk: number): Rows =>
    block(`{${Array.from({ length: 1000 }, (_, at) => `"c${chunk} ${at}":1`).join()}}`);
  const chunks = Array.from({ length: 10 }, (_, chunk) => [String(chunk), wide(chunk)] as const);
  expect(shown(when(holding(chunks), add(stash, { mode: 'dropColumns' })))).toMatch(/^ok /);
  const refusal = 'limit_exceeded: the stash names more than 10000 different columns';
  for (const request of [add(stash, { mode: 'dropColumns' }), overwrite(stash), create(stash)]) {
    expect(shown(when(holding([...chunks, ['10', blockOf(1)]]), request))).toBe(refusal);
  }
});
