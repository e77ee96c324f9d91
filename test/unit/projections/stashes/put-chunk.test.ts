/**
 * Chunks of a stash (spec 4.10, decisions 3 and 5): what becomes of them at version 100, after what came before from 60
 * on.
 */
import { describe, expect, test } from '@jest/globals';

import { given, here, when } from '../../../support/decisions.ts';
import { block, body, cells, deleteStash, expireStash, few, noRows, putChunk } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { States } from '../../../../projections/models.ts';
import type { Request } from '../../../support/requests.ts';

const one = '{"a":1}';
const life = 1000;
const until = `until ${here.time + life}`;

/** The state after these requests, all of them at the time of `here`. */
function after(...requests: readonly Request[]): States {
  const state = given();
  requests.forEach((request, at) => when(state, request, { ...here, version: 60n + BigInt(at) }));
  return state;
}

type Case = readonly [name: string, before: readonly Request[], request: Request, outcome: string];

function check(_name: string, before: Case[1], request: Request, outcome: string): void {
  expect(shown(when(after(...before), request))).toBe(outcome);
}

const rowsOf = (count: number): string[] => Array.from({ length: count }, () => one);

describe('a chunk', () => {
  const first = putChunk(block(one), '1');

  test.each<Case>([
    [
      'makes the stash when it is the first',
      [],
      putChunk(block(one, one), '1'),
      `ok | stash stash@100 1 chunks 2 rows ${until} | chunk 1 2`,
    ],
    [
      'comes beside another',
      [first],
      putChunk(block(one, one), '2'),
      `ok | stash stash@60 2 chunks 3 rows ${until} | chunk 2 2`,
    ],
    [
      'takes the place of another',
      [first],
      putChunk(block(one, one), '1'),
      `ok | stash stash@60 1 chunks 2 rows ${until} | chunk 1 2 replaces`,
    ],
    [
      'takes the place of one that took a place',
      [first, putChunk(block(...rowsOf(9)), '1')],
      putChunk(block(one, one), '1'),
      `ok | stash stash@60 1 chunks 2 rows ${until} | chunk 1 2 replaces`,
    ],
    [
      'may be smaller than the one before',
      [putChunk(block(...rowsOf(3)), '1')],
      first,
      `ok | stash stash@60 1 chunks 1 rows ${until} | chunk 1 1 replaces`,
    ],
    [
      'is another one under an equal number',
      [first],
      putChunk(block(one), '01'),
      `ok | stash stash@60 2 chunks 2 rows ${until} | chunk 01 1`,
    ],
    [
      'is another one under other letters',
      [putChunk(block(one), 'a')],
      putChunk(block(one), 'A'),
      `ok | stash stash@60 2 chunks 2 rows 2 words ${until} | chunk A 1`,
    ],
    [
      'is no number once',
      [putChunk(block(one), 'a')],
      putChunk(block(one), 'a'),
      `ok | stash stash@60 1 chunks 1 rows 1 words ${until} | chunk a 1 replaces`,
    ],
    ['without rows is one', [], putChunk(noRows, '1'), `ok | stash stash@100 1 chunks 0 rows ${until} | chunk 1 0`],
    [
      'without rows takes a place too',
      [first],
      putChunk(few(), '1'),
      `ok | stash stash@60 1 chunks 0 rows ${until} | chunk 1 0 replaces`,
    ],
    ['may be a header', [], putChunk(cells('a,b'), '1'), `ok | stash stash@100 1 chunks 0 rows ${until} | chunk 1 0`],
    [
      'of several blocks',
      [first],
      putChunk(body([5, one], [0, one, one]), '7'),
      `ok | stash stash@60 2 chunks 4 rows ${until} | chunk 7 3 in 2`,
    ],
    [
      'takes the place of several blocks',
      [putChunk(body([5, one], [0, one, one]), '7')],
      putChunk(block(one), '7'),
      `ok | stash stash@60 1 chunks 1 rows ${until} | chunk 7 1 replaces`,
    ],
    [
      'takes an hour at most',
      [],
      putChunk(body([3_600_001, one], [0, one]), '1'),
      'request_validation_error: the body took longer than an hour to arrive; send it again',
    ],
    [
      'may have rows that fit no table of the team',
      [],
      putChunk(block('{"$stashID":1,"a":[[]]}'), '1'),
      `ok | stash stash@100 1 chunks 1 rows ${until} | chunk 1 1`,
    ],
    [
      'may have IDs that nobody issued',
      [],
      putChunk(block('{"$rowID":"x"}'), '1'),
      `ok | stash stash@100 1 chunks 1 rows ${until} | chunk 1 1`,
    ],
  ])('a chunk %s', check);

  test('counts with the columns of each of its blocks, as long as it exists', () => {
    const state = after(
      first,
      putChunk(body([0, '{"a":1,"b":1}'], [0, '{"a":1,"c":1,"d":1}']), '2'),
      putChunk(cells('x,y'), '3'),
    );
    expect(state.stashes.stash('team', 'stash')).toMatchObject({ profiledColumns: 1 + 2 + 3 + 2 });
    when(state, putChunk(block(one), '2'));
    when(state, putChunk(noRows, '3'));
    expect(state.stashes.stash('team', 'stash')).toMatchObject({ profiledColumns: 2 });
  });

  test('is only in the stash of its team and its name', () => {
    const state = after(first);
    for (const { teamId, stashId } of [
      { teamId: 'another', stashId: 'stash' },
      { teamId: 'team', stashId: 'Stash' },
    ]) {
      const { data, ...carried } = putChunk(block(one), '1');
      if (data.type !== 'ChunkPutRequested') throw new Error('not a chunk');
      expect(shown(when(state, { data: { ...data, teamId, stashId }, ...carried }))).toBe(
        `ok | stash ${stashId}@100 1 chunks 1 rows ${until} | chunk 1 1`,
      );
    }
    expect(state.stashes.stash('team', 'stash')).toMatchObject({ created: 60n, chunks: 1, rows: 1 });
  });

  test('that another one replaced is removed, unless it is not stored yet', () => {
    const stored = after(first);
    const next = given();
    const stash = stored.stashes.stash('team', 'stash')!;
    next.stashes.put(stash);
    const { key } = stash;
    const before = { ...stored.stashes.chunk(key, '1')!, key: 7n };
    next.stashes.putChunk(before);
    for (let times = 0; times < 3; times += 1) when(next, first);
    expect(next.stashes.replacedChunks).toEqual([before.key]);
    expect(next.stashes.newChunksOf(key)).toEqual([expect.objectContaining({ serial: '1', rows: 1 })]);
    expect(next.stashes.newChunksOf(key)[0]!.key).not.toBe(before.key);
  });
});

describe('a stash has at most', () => {
  const chunk = (serial: string, rows = 1): Request => putChunk(block(...rowsOf(rows)), serial);
  const two = [chunk('1'), chunk('2')];
  const chunks = 'limit_exceeded: the stash would have more than 2 chunks';
  const rows = 'limit_exceeded: the stash would have more than 5 rows';
  const columns = 'limit_exceeded: the stash would have too many columns for so many chunks: send more rows in each';
  const wide = block('{"a":1,"b":1,"c":1}');

  test.each<Case>([
    [
      'as many chunks as are allowed',
      [chunk('1')],
      putChunk(block(one), '2', { chunksMax: 2 }),
      `ok | stash stash@60 2 chunks 2 rows ${until} | chunk 2 1`,
    ],
    ['no more', two, putChunk(block(one), '3', { chunksMax: 2 }), chunks],
    ['no empty ones more', two, putChunk(noRows, '3', { chunksMax: 2 }), chunks],
    [
      'but others in their places',
      two,
      putChunk(block(one), '2', { chunksMax: 2 }),
      `ok | stash stash@60 2 chunks 2 rows ${until} | chunk 2 1 replaces`,
    ],
    [
      'none',
      [],
      putChunk(block(one), '1', { chunksMax: 0 }),
      'limit_exceeded: the stash would have more than 0 chunks',
    ],
    [
      'as many rows as are allowed',
      two,
      putChunk(block(...rowsOf(3)), '3', { rowsMax: 5 }),
      `ok | stash stash@60 3 chunks 5 rows ${until} | chunk 3 3`,
    ],
    ['no more rows', two, putChunk(block(...rowsOf(4)), '3', { rowsMax: 5 }), rows],
    ['no more rows in the place of others', two, putChunk(block(...rowsOf(5)), '2', { rowsMax: 5 }), rows],
    [
      'but as many in the place of others',
      two,
      putChunk(block(...rowsOf(4)), '2', { rowsMax: 5 }),
      `ok | stash stash@60 2 chunks 5 rows ${until} | chunk 2 4 replaces`,
    ],
    [
      'fewer when it has too many by another limit',
      [chunk('1', 9), chunk('2')],
      putChunk(block(one), '1', { rowsMax: 5 }),
      `ok | stash stash@60 2 chunks 2 rows ${until} | chunk 1 1 replaces`,
    ],
    [
      'as many columns in all blocks as are allowed',
      two,
      putChunk(wide, '3', { profiledColumnsMax: 5 }),
      `ok | stash stash@60 3 chunks 3 rows ${until} | chunk 3 1`,
    ],
    ['no more columns', two, putChunk(wide, '3', { profiledColumnsMax: 4 }), columns],
    [
      'but as many in the place of others',
      two,
      putChunk(wide, '2', { profiledColumnsMax: 4 }),
      `ok | stash stash@60 2 chunks 2 rows ${until} | chunk 2 1 replaces`,
    ],
    ['no more columns of headers', two, putChunk(cells('a,b,c'), '3', { profiledColumnsMax: 4 }), columns],
  ])('a stash has at most %s', check);

  test('a refused chunk does not change the stash', () => {
    const state = after(...two);
    const before = state.stashes.stash('team', 'stash');
    expect(when(state, putChunk(block(one), '3', { chunksMax: 2 })).changes).toEqual([]);
    expect(state.stashes.stash('team', 'stash')).toEqual(before);
    expect(state.stashes.chunk(before!.key, '3')).toBeNull();
  });

  test('a refused chunk creates no stash', () => {
    const state = given();
    expect(when(state, putChunk(block(one), '1', { rowsMax: 0 })).changes).toEqual([]);
    expect(state.stashes.stash('team', 'stash')).toBeNull();
  });
});

describe('after', () => {
  const first = putChunk(block(one, one), '1');
  const next = putChunk(block(one), '1', { lifeMs: 7 });
  const at = (time: number) => ({ ...here, version: 101n, time });
  const expired = here.time + life;
  const made = (time: number) => `stash stash@101 1 chunks 1 rows until ${time + 7} | chunk 1 1`;

  test.each<readonly [string, readonly Request[], number, string]>([
    [
      'some time a chunk joins the stash, whose time stays what it is',
      [first],
      expired - 1,
      `ok | stash stash@60 1 chunks 1 rows ${until} | chunk 1 1 replaces`,
    ],
    [
      'the time of a stash a chunk makes a new one, and says that the other is over',
      [first],
      expired,
      `ok | stash stash@60 1 chunks 2 rows ended ${expired} | ${made(expired)}`,
    ],
    [
      'a long time too',
      [first],
      expired + 1e9,
      `ok | stash stash@60 1 chunks 2 rows ended ${expired} | ${made(expired + 1e9)}`,
    ],
    ['a deletion a chunk makes a new one', [first, deleteStash()], here.time, `ok | ${made(here.time)}`],
    ['a deletion and its time a chunk makes a new one', [first, deleteStash()], expired, `ok | ${made(expired)}`],
  ])('a chunk is put after %s', (_name, before, time, outcome) => {
    expect(shown(when(after(...before), next, at(time)))).toBe(outcome);
  });

  test('its expiry was recorded, a chunk makes a new stash', () => {
    const state = after(first);
    when(state, expireStash(60n), at(expired));
    expect(shown(when(state, next, at(expired)))).toBe(`ok | ${made(expired)}`);
  });

  test('a new stash has no chunks of the old one', () => {
    const state = after(first, putChunk(block(one), '2'), deleteStash(), putChunk(block(one), '2'));
    const { key, ...counts } = state.stashes.stash('team', 'stash')!;
    expect(counts).toMatchObject({ created: 63n, chunks: 1, rows: 1 });
    expect(state.stashes.chunk(key, '1')).toBeNull();
    expect(state.stashes.newChunksOf(key).map(({ serial }) => serial)).toEqual(['2']);
  });
});
