import { expect, test } from '@jest/globals';
import type { EventData, EventOf } from '../../../../src/language/events/event.ts';
import {
  exceededShare,
  isOfShare,
  tableBytesOf,
  takesNoRoom,
  type DiskRoom,
} from '../../../../src/api/usage/disk-share.ts';
import { emptyProfile } from '../../../../src/language/values/build-profile.ts';

const mebibyte = 2 ** 20;
const shared = (left: number): DiskRoom[] => [{ hasTables: true, hasFiles: true, left: left * mebibyte }];
const apart = (tables: number, files: number): DiskRoom[] => [
  { hasTables: true, hasFiles: false, left: tables * mebibyte },
  { hasTables: false, hasFiles: true, left: files * mebibyte },
];
const message = (taken: string, left: string): string =>
  `the team has taken about ${taken} of the service's disk today, and ${left} are left for all teams: wait until the next day (UTC)`;

test.each<[string, DiskRoom[], string | null, string | null]>([
  ['no disk is seen', [], null, null],
  ['a disk of something else', [{ hasTables: false, hasFiles: false, left: 0 }], null, null],
  ['as much is left as the team took', shared(30), null, null],
  ['less is left', shared(29), message('30 MiB', '29 MiB'), message('30 MiB', '29 MiB')],
  ['nothing is left', shared(0), message('30 MiB', '0 bytes'), message('30 MiB', '0 bytes')],
  ['the tables have a disk of their own, with enough left', apart(10, 20), null, null],
  ['with less than they took', apart(9, 20), message('10 MiB', '9 MiB'), null],
  ['less is left for files', apart(10, 19), null, message('20 MiB', '19 MiB')],
])('a team with 10 MiB of tables and 20 MiB of files, where %s', (_what, rooms, tables, files) => {
  const taken = { log: 5 * mebibyte, tables: 10 * mebibyte, files: 20 * mebibyte };
  for (const [what, words] of [
    ['tables', tables],
    ['files', files],
  ] as const) {
    const refusal = exceededShare(taken, rooms, what);
    expect(refusal).toEqual(words === null ? null : { type: 'limit_exceeded', message: words });
    if (refusal !== null) expect(isOfShare(refusal.message)).toBe(true);
  }
});

const teamId = '01a1ff11-7ce6-7178-9b08-264f4408192e';
const profile = { ...emptyProfile, rows: 10, bytes: 1000 };
const upload = { teamId, uploadId: 'upload', appId: 'shop' };
const row = { version: 1n, ordinal: 0, index: 0 };

const batchOf = (...operations: EventOf<'TableBatchRequested'>['operations']): EventData => ({
  type: 'TableBatchRequested',
  teamId,
  tableId: 'table',
  ifMatch: null,
  onSchemaError: 'abort',
  limits: { columnsMax: 1, rowBytesMax: 1, rowsPerTableMax: 1 },
  operations,
  profile,
});

test('rows count by their text, not by their compressed record', () => {
  const block: EventData = { type: 'BlockReceived', teamId, bodyId: 'body', number: 0, segmentId: 'segment', profile };
  const opened: EventData = { type: 'BodyOpenRequested', teamId, bodyId: 'body', limits: { openMax: 1 } };
  expect(tableBytesOf(opened, 100)).toBe(100 + 1024);
  expect(tableBytesOf(block, 100)).toBe(100 + 1024 + 1200 + 400);
});

test.each<[EventData, boolean]>([
  [{ type: 'RowDeleteRequested', teamId, tableId: 'table', row, ifMatch: null }, true],
  [{ type: 'StashDeleteRequested', teamId, stashId: 'stash' }, true],
  [batchOf({ op: 'delete', row, ifMatch: null }), true],
  [batchOf({ op: 'delete', row, ifMatch: null }, { op: 'add' }), false],
  [{ type: 'UploadDeleteRequested', ...upload }, true],
  [{ type: 'UploadCompleteRequested', ...upload, file: { name: 'file', size: 1 } }, true],
  [{ type: 'BodyOpenRequested', teamId, bodyId: 'body', limits: { openMax: 1 } }, false],
  // Recorded for its key: a small record, but a record.
  [{ type: 'RequestRefused', teamId, refusal: { type: 'table_not_found', message: 'there is no such table' } }, false],
])('%j: it takes no room: %s', (event, expected) => {
  expect(takesNoRoom(event)).toBe(expected);
});
