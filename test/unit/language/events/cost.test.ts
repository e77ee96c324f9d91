import { describe, expect, test } from '@jest/globals';
import { costOf, costOfRecord } from '../../../../src/language/events/cost.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { EventData } from '../../../../src/language/events/event.ts';
import type { RowSource } from '../../../../src/language/events/row-source.ts';
import type { Profile } from '../../../../src/language/values/profile.ts';

const unknown = 16_000_000;
const limits = { rowsPerTableMax: 1, columnsMax: 1, rowBytesMax: 1 };

/** A profile of so many rows and columns. */
function profile(rows: number, columns: number): Profile {
  return {
    rows,
    bytes: 0,
    rowBytesMax: 0,
    rule: 3,
    columns: Array.from({ length: columns }, (_, at) => ({
      id: `c${at}`,
      first: { row: 0, position: at },
      natural: null,
      stored: 0,
      misfits: [],
    })),
  };
}

const adding = (rows: RowSource): EventData => ({
  type: 'RowsAddRequested',
  teamId: 'team',
  tableId: 'table',
  ifMatch: null,
  onSchemaError: 'abort',
  limits,
  rows,
});
const block = (rows: number, columns: number, ids?: true): EventData => ({
  type: 'BlockReceived',
  teamId: 'team',
  bodyId: 'body',
  number: 0,
  segmentId: 'segment',
  profile: profile(rows, columns),
  ...(ids ? { ids } : {}),
});

describe('an event costs', () => {
  test.each<[string, EventData, number]>([
    ['its bytes, and what any costs', { type: 'TeamSuspended', teamId: 'team' }, 0],
    ['the columns of its rows', adding({ kind: 'few', profile: profile(3, 5) }), 5 * 128],
    [
      'the row IDs of its rows',
      adding({ kind: 'block', segmentId: 'segment', profile: profile(3, 5), ids: true }),
      5 * 128 + 3 * 200,
    ],
    ['the columns of a block', block(10, 2000), 2000 * 128],
    ['the row IDs of a block', block(10, 1, true), 128 + 10 * 200],
    ['nothing for rows that it has not', adding({ kind: 'none' }), 0],
    [
      'what the blocks of its body hold',
      adding({ kind: 'body', bodyId: 'body', blocks: 2, content: { columns: 100, rowIds: 7 } }),
      100 * 128 + 7 * 200,
    ],
    ['much where that is not known', adding({ kind: 'body', bodyId: 'body', blocks: 2 }), unknown],
    ['much where it imports', adding({ kind: 'stash', stashId: 'stash' }), unknown],
  ])('an event costs %s', (_name, data, content) => {
    expect(costOf(data, 123)).toBe(8000 + 123 + content);
    const { bytes, cost } = encodeEvent({ commandId: 'c', notAfter: null, requestDigest: null }, data);
    expect(costOfRecord(bytes)).toBe(cost);
  });
});

describe('a record without a cost', () => {
  const record = (json: string): Buffer =>
    Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, json.length]), Buffer.from(json)]);

  test.each([
    ['its bytes', record('{}'), 8010],
    ['much if it imports', record('{"data":{"rows":{"kind":"stash","stashId":"stash"}}}'), unknown],
    ['much if it ends a body', record('{"data":{"rows":{"kind":"body","bodyId":"body"}}}'), unknown],
    ['its bytes, whatever its texts are', record('{"name":"\\"rows\\":{\\"kind\\":\\"stash\\""}'), 8000 + 8 + 39],
    ['its bytes, if it is none', Buffer.from('no record'), 8009],
  ])('a record without a cost counts as %s', (_name, bytes, expected) => expect(costOfRecord(bytes)).toBe(expected));
});
