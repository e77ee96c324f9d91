/** What a client may send (spec 2, 4.2, 4.12, decisions 2 and 3), and the events that become of it. */
import { describe, expect, test } from '@jest/globals';

import { addRows, addRowsQuery } from '../../../commands/add-rows.ts';
import { createTable, createTableQuery } from '../../../commands/create-table.ts';
import { deleteRow } from '../../../commands/delete-row.ts';
import { appIdsQuery, onSchemaError, parse, stashReference, tableSchema } from '../../../commands/inputs.ts';
import { InvalidRequest } from '../../../commands/invalid-request.ts';
import { overwriteTable } from '../../../commands/overwrite-table.ts';
import { patchRow, patchRowQuery } from '../../../commands/patch-row.ts';
import { receiveBlock } from '../../../commands/receive-block.ts';
import { rowLimits } from '../../../commands/limits.ts';
import type { RowSource } from '../../../src/language/events/row-source.ts';
import { formatRowId } from '../../../src/language/events/row-id.ts';
import { emptyProfile } from '../../../src/language/values/build-profile.ts';
import { scalarKinds } from '../../../src/language/values/column-type.ts';

const invalid = (message: string): Error => new InvalidRequest(message);

/** What was asked for, or why it is malformed. */
function result(ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    expect(error.type).toBe('request_validation_error');
    return error.message;
  }
}

const notAType =
  'must be a type, {kind: type} or {kind: "array", items: {kind: type}}, where type is one of string, uri, imageURI, ' +
  'audioURI, markdown, phoneNumber, emailAddress, emoji, date, time, dateTime, duration, number, boolean, json';
const notText = 'must be well-formed Unicode without U+0000';

describe('a column type', () => {
  const read = (type: unknown): unknown =>
    result(() => parse(tableSchema, { columns: [{ id: 'a', type }] }, invalid).columns[0]!.type);

  test.each(scalarKinds)('the type %s has three spellings', (kind) => {
    expect(read(kind)).toBe(kind);
    expect(read({ kind })).toBe(kind);
    expect(read({ kind: 'array', items: { kind } })).toBe(`array<${kind}>`);
  });

  test.each([
    ['url', 'uri'],
    [{ kind: 'url' }, 'uri'],
    [{ kind: 'array', items: { kind: 'url' } }, 'array<uri>'],
  ])('the column type %j is read as %s', (type, taken) => expect(read(type)).toBe(taken));

  test.each([
    'text',
    'URL',
    'String',
    'array',
    'array<string>',
    '',
    null,
    1,
    [],
    ['string'],
    {},
    { kind: 'text' },
    { kind: 'array' },
    { kind: 'array', items: 'string' },
    { kind: 'array', items: { kind: 'array', items: { kind: 'string' } } },
    undefined,
  ])('%j is no column type', (type) => expect(read(type)).toBe(`columns[0].type: ${notAType}`));

  test.each([
    [{ kind: 'string', items: { kind: 'string' } }, 'columns[0].type: there is no property "items"'],
    [{ kind: 'array', items: { kind: 'string' }, format: 'x' }, 'columns[0].type: there is no property "format"'],
  ])('the column %j has an unknown member', (type, message) => expect(read(type)).toBe(message));
});

describe('a schema', () => {
  const column = { id: 'a', type: 'string' };

  test.each<[schema: unknown, expected: unknown]>([
    [{ columns: [] }, { columns: [] }],
    [{ columns: [{ ...column, displayName: 'A' }] }, { columns: [{ ...column, displayName: 'A' }] }],
    [{ columns: [{ ...column, id: '__proto__' }] }, { columns: [{ ...column, id: '__proto__' }] }],
    [{ columns: [{ ...column, id: 'é'.repeat(128) }] }, { columns: [{ ...column, id: 'é'.repeat(128) }] }],
    [{ columns: [{ ...column, id: 'é'.repeat(129) }] }, 'columns[0].id: must have at most 256 bytes'],
    [{ columns: [{ ...column, id: '' }] }, 'columns[0].id: must not be empty'],
    [{ columns: [column, { ...column, id: 'a\0' }] }, `columns[1].id: ${notText}`],
    [{ columns: [{ ...column, id: '\ud800' }] }, `columns[0].id: ${notText}`],
    [{ columns: [{ ...column, displayName: '\udc00' }] }, `columns[0].displayName: ${notText}`],
    [{ columns: [{ ...column, width: 3 }] }, 'columns[0]: there is no property "width"'],
    [{ columns: [], rows: [] }, 'the body: there is no property "rows"'],
    [{ columns: [{ type: 'string' }] }, 'columns[0].id: required'],
    [{ columns: {} }, 'columns: must be an array, not an object'],
    [{}, 'columns: required'],
    [[], 'the body: must be an object, not an array'],
  ])('the schema %j is taken or refused with its place', (schema, expected) =>
    expect(result(() => parse(tableSchema, schema, invalid))).toEqual(expected),
  );
});

describe('a stash reference', () => {
  const pattern =
    '$stashID: must begin with a letter or digit and have at most 256 letters, digits, dashes and underscores';

  test.each(['a', '0', 'A-b_c', 'a'.repeat(256)])('the stash reference "%s" is accepted', ($stashID) => {
    expect(parse(stashReference, { $stashID }, invalid)).toEqual({ $stashID });
  });

  test.each(['', '-a', '_a', 'a b', 'a.b', 'é', 'a\n', 'a'.repeat(257)])(
    'the stash reference %j is refused',
    ($stashID) => {
      expect(result(() => parse(stashReference, { $stashID }, invalid))).toBe(pattern);
    },
  );

  test('has no further members', () => {
    const message = result(() => parse(stashReference, { $stashID: 'a', rows: [] }, invalid));
    expect(message).toBe('the body: there is no property "rows"');
  });
});

describe('query parameters', () => {
  test.each<[value: unknown, expected: unknown]>([
    ['x', ['x']],
    ['x,y', ['x', 'y']],
    [
      ['x', 'y,z'],
      ['x', 'y', 'z'],
    ],
    ['', '[0]: must not be empty'],
    ['x,,y', '[1]: must not be empty'],
    [['x', '\0'], `[1]: ${notText}`],
    [Array(1001).fill('x').join(), 'the body: must have at most 1000 items'],
  ])('the query parameter for apps %j is read', (value, expected) => {
    expect(result(() => parse(appIdsQuery, value, invalid))).toEqual(expected);
  });

  test.each<[value: unknown, expected: unknown]>([
    [undefined, 'abort'],
    ['abort', 'abort'],
    ['dropColumns', 'dropColumns'],
    ['updateSchema', 'updateSchema'],
    ['ABORT', 'the body: must be "abort", "dropColumns" or "updateSchema"'],
    ['', 'the body: must be "abort", "dropColumns" or "updateSchema"'],
    [['abort', 'abort'], 'the body: must be "abort", "dropColumns" or "updateSchema"'],
  ])('the query parameter onSchemaError %j is read', (value, expected) => {
    expect(result(() => parse(onSchemaError, value, invalid))).toEqual(expected);
  });

  test.each([createTableQuery, addRowsQuery, patchRowQuery])('unknown query parameters are refused', (query) => {
    expect(query.safeParse({ onSchemaErrors: 'abort' }).success).toBe(false);
  });
});

const few: RowSource = { kind: 'few', profile: emptyProfile };
const limits = rowLimits(9);

describe('creating a table', () => {
  const asked = (
    query: object,
    members: Record<string, unknown> | null,
    rows: RowSource | null,
    appId: string | null = null,
  ): unknown =>
    result(() =>
      createTable({
        teamId: 'team',
        appId,
        tableId: 'table',
        query: parse(createTableQuery, query, invalid),
        members,
        rows,
        limits,
      }),
    );
  const made = {
    type: 'TableCreateRequested',
    teamId: 'team',
    tableId: 'table',
    name: 'A',
    columns: null,
    onSchemaError: 'abort',
    appsToLink: null,
    limits,
    rows: few,
  };
  const column = { id: 'a', type: 'string' };

  test.each<[query: object, members: Record<string, unknown> | null, rows: RowSource | null, expected: unknown]>([
    [{ name: 'A' }, null, few, made],
    [{}, { name: 'A' }, few, made],
    [{ name: 'A' }, {}, few, made],
    [{ onSchemaError: 'updateSchema' }, { name: 'A' }, few, { ...made, onSchemaError: 'updateSchema' }],
    [{}, { name: 'A', schema: { columns: [column] } }, few, { ...made, columns: [column] }],
    [{}, { name: 'A', schema: { columns: [] } }, few, { ...made, columns: [] }],
    [{}, { name: 'A', rows: { $stashID: 's' } }, null, { ...made, rows: { kind: 'stash', stashId: 's' } }],
    [{ appsToLink: 'x,y' }, { name: 'A', appsToLink: ['y', 'z'] }, few, { ...made, appsToLink: ['x', 'y', 'z'] }],
    [{ appsToLink: ['x', 'x'] }, { name: 'A' }, few, { ...made, appsToLink: ['x'] }],
    [{}, { name: 'A', appsToLink: [] }, few, { ...made, appsToLink: [] }],
    [{ name: 'A' }, { name: 'A' }, few, 'name: given in the query and in the body; give it once'],
    [{}, {}, few, 'name: required'],
    [{}, null, few, 'name: required'],
    [{}, { name: 'A' }, null, 'rows: required'],
    [{}, { name: '' }, few, 'name: must not be empty'],
    [{}, { name: 'a\0' }, few, `name: ${notText}`],
    [{}, { name: 'é'.repeat(513) }, few, 'name: must have at most 1024 bytes'],
    [{}, { name: 1 }, few, 'name: must be a string, not a number'],
    [{}, { name: 'A', rows: {} }, null, 'rows: must be an array: send one row as [{...}]'],
    [
      { name: 'A' },
      { colour: 'red' },
      null,
      'the body: must not have "colour". Rows come in an array: send one row as [{...}]',
    ],
    [{}, { name: 'A', rows: null }, null, 'rows: must be an array of rows, or {"$stashID": ...}'],
    [{}, { name: 'A', colour: 'red' }, few, 'the body: there is no property "colour"'],
    [{}, { name: 'A', $stashID: 's' }, null, 'the body: there is no property "$stashID"'],
    [{}, { name: 'A', schema: null }, few, 'schema: must be an object, not null'],
    [{}, { name: 'A', appsToLink: ['x', ''] }, few, 'appsToLink[1]: must not be empty'],
    [{}, { name: 'A', appsToLink: 'x' }, few, 'appsToLink: must be an array, not a string'],
  ])('creating with %j %j %j becomes the command', (query, members, rows, expected) =>
    expect(asked(query, members, rows)).toEqual(expected),
  );

  test('creating names a stash of the app of the token', () => {
    expect(asked({ name: 'A' }, { rows: { $stashID: 's' } }, null, 'a b/c')).toEqual({
      ...made,
      rows: { kind: 'stash', stashId: 'a b/c/s' },
    });
  });
});

describe('adding rows', () => {
  const asked = (
    members: Record<string, unknown> | null,
    rows: RowSource | null,
    appId: string | null = null,
    mode: 'add' | 'upsert' = 'add',
  ): unknown =>
    result(() =>
      addRows({
        teamId: 'team',
        appId,
        tableId: 'table',
        ifMatch: 7n,
        query: { onSchemaError: 'abort', mode },
        members,
        rows,
        limits,
      }),
    );
  const added = {
    type: 'RowsAddRequested',
    teamId: 'team',
    tableId: 'table',
    ifMatch: 7n,
    onSchemaError: 'abort',
    limits,
    rows: few,
  };
  const wrongRows = 'rows: must be an array of rows. To add the rows of a stash, send only {"$stashID": ...}';

  test.each<[members: Record<string, unknown> | null, rows: RowSource | null, expected: unknown]>([
    [null, few, added],
    [{}, few, added],
    [{ $stashID: 's' }, null, { ...added, rows: { kind: 'stash', stashId: 's' } }],
    [{ schema: {} }, few, 'the body: there is no property "schema"'],
    [{ $stashID: 's' }, few, 'the body: there is no property "$stashID"'],
    [{}, null, 'rows: required'],
    [{ row: [] }, null, 'the body: must not have "row". Rows come in an array: send one row as [{...}]'],
    [{ name: 'Ada' }, null, 'the body: must not have "name". Rows come in an array: send one row as [{...}]'],
    [{ rows: { name: 'Ada' } }, null, 'rows: must be an array: send one row as [{...}]'],
    [{ rows: 7 }, null, wrongRows],
    [{ rows: { $stashID: 's' } }, null, wrongRows],
    [{ rows: 7, $stashID: 's' }, null, wrongRows],
    [{ $stashID: 7 }, null, '$stashID: must be a string, not a number'],
    [{ $stashID: 's', name: 'A' }, null, 'the body: there is no property "name"'],
  ])('adding with %j %j becomes the command', (members, rows, expected) =>
    expect(asked(members, rows)).toEqual(expected),
  );

  test('adding names a stash of the app of the token', () => {
    expect(asked({ $stashID: 's' }, null, 'app')).toEqual({ ...added, rows: { kind: 'stash', stashId: 'app/s' } });
  });
});

describe('overwriting a table', () => {
  const asked = (
    members: Record<string, unknown> | null,
    rows: RowSource | null,
    appId: string | null = null,
  ): unknown =>
    result(() =>
      overwriteTable({
        teamId: 'team',
        appId,
        tableId: 'table',
        ifMatch: 7n,
        query: { onSchemaError: 'abort' },
        members,
        rows,
        limits,
      }),
    );
  const overwritten = {
    type: 'TableOverwriteRequested',
    teamId: 'team',
    tableId: 'table',
    ifMatch: 7n,
    columns: null,
    onSchemaError: 'abort',
    limits,
    rows: few,
  };
  const stash = { kind: 'stash', stashId: 's' };
  const schema = { columns: [{ id: 'a', type: 'number' }] };

  test.each<[members: Record<string, unknown> | null, rows: RowSource | null, expected: unknown]>([
    [null, few, overwritten],
    [{}, few, overwritten],
    [{ schema }, few, { ...overwritten, columns: schema.columns }],
    [{ $stashID: 's' }, null, { ...overwritten, rows: stash }],
    [{ rows: { $stashID: 's' }, schema }, null, { ...overwritten, columns: schema.columns, rows: stash }],
    [{ $stashID: 's', schema }, null, 'the body: there is no property "schema"'],
    [{ $stashID: 's' }, few, 'the body: there is no property "$stashID"'],
    [{ name: 'A' }, few, 'the body: there is no property "name"'],
    [{ schema }, null, 'rows: required'],
    [{}, null, 'rows: required'],
  ])('overwriting with %j %j becomes the command', (members, rows, expected) =>
    expect(asked(members, rows)).toEqual(expected),
  );

  test('overwriting names a stash of the app of the token', () => {
    for (const members of [{ $stashID: 's' }, { rows: { $stashID: 's' } }]) {
      expect(asked(members, null, 'app')).toEqual({ ...overwritten, rows: { kind: 'stash', stashId: 'app/s' } });
    }
  });
});

describe('one row', () => {
  const row = { version: 7n, ordinal: 1, index: 2 };
  const target = { teamId: 'team', tableId: 'table', row, ifMatch: null };
  const patched = {
    type: 'RowPatchRequested',
    ...target,
    onSchemaError: 'dropColumns',
    limits,
    profile: emptyProfile,
  };
  const wrong = '$rowID: must be absent, or the ID of the patched row';

  test.each<[name: string, carried: object, expected: unknown]>([
    ['without an ID', {}, patched],
    ['with its ID', { givenRowId: formatRowId(row) }, patched],
    ['with the ID of another', { givenRowId: formatRowId({ ...row, index: 3 }) }, wrong],
    ['with no ID at all', { givenRowId: null }, wrong],
    ['with something else for an ID', { givenRowId: 7 }, wrong],
  ])('is patched %s', (_name, carried, expected) => {
    const query = { onSchemaError: 'dropColumns' } as const;
    expect(
      result(() => patchRow({ ...target, rowId: formatRowId(row), query, profile: emptyProfile, limits, ...carried })),
    ).toEqual(expected);
  });

  test('is deleted', () => expect(deleteRow(target)).toEqual({ type: 'RowDeleteRequested', ...target }));
});

test('a received block becomes a fact', () => {
  const block = { teamId: 'team', bodyId: 'body', number: 1, segmentId: 'segment', profile: emptyProfile };
  expect(receiveBlock({ ...block, hasIds: false })).toEqual({ type: 'BlockReceived', ...block });
  expect(receiveBlock({ ...block, hasIds: true })).toEqual({ type: 'BlockReceived', ...block, ids: true });
});

test('an event contains the limits of the settings and of the rules', () => {
  expect(rowLimits(9)).toEqual({
    rowsPerTableMax: 9,
    columnsMax: 1000,
    rowBytesMax: 512 * 1024,
    stashColumnsMax: 1000,
  });
});
