/** What a write answers, and its job later: the same text, made at once or as it is read. */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import type { AppliedResult, RowRange } from '../../../../../src/language/events/outcome.ts';
import { formatRowId } from '../../../../../src/language/events/row-id.ts';
import { encloseResult } from '../../../../../src/api/http/answers/result-json.ts';

const tableId = '01a1ff11-7ce6-7178-9b08-264f4408192e';
const range = (version: bigint, count: number, first = 0, ordinal = 0) => ({ version, ordinal, first, count });

/** Of each range that keeps, each third row kept the ID of another place. */
const retainedId = (index: number): string => formatRowId({ version: 3n, ordinal: 9, index: 1_000_000 - index });
const findRetained = async ({ first, count }: RowRange): Promise<Map<number, string>> =>
  new Map(
    Array.from({ length: count }, (_, at) => first + at)
      .filter((index) => index % 3 === 0)
      .map((index) => [index, retainedId(index)]),
  );

async function dataOf(result: AppliedResult): Promise<unknown> {
  const made = await encloseResult('{"data":', result, ',"more":1}', findRetained);
  const whole = made instanceof Readable ? await text(made) : made.toString();
  expect(whole).toMatch(/^\{"data":/);
  const { data, more } = JSON.parse(whole);
  expect(more).toBe(1);
  return data;
}

const idsOf = (result: AppliedResult): string[] =>
  (result.rows ?? []).flatMap(({ version, ordinal, first, count, extents = 1, retainedIn }) =>
    Array.from({ length: extents }, (_, extent) =>
      Array.from({ length: count }, (_, at) => first + at).map((index) =>
        retainedIn && index % 3 === 0 ? retainedId(index) : formatRowId({ version, ordinal: ordinal + extent, index }),
      ),
    ).flat(),
  );

describe('the data of the answer to', () => {
  test.each<[string, AppliedResult, object]>([
    ['a patch', {}, {}],
    ['an add of nothing', { rows: [] }, { rowIDs: [] }],
    ['a table without rows', { tableId, rows: [] }, { tableID: tableId, rowIDs: [] }],
    [
      'a table with apps',
      { tableId, rows: [range(5n, 2)], linkedAppIds: ['a"b', 'ä'] },
      {
        tableID: tableId,
        rowIDs: [
          formatRowId({ version: 5n, ordinal: 0, index: 0 }),
          formatRowId({ version: 5n, ordinal: 0, index: 1 }),
        ],
        linkedAppIDs: ['a"b', 'ä'],
      },
    ],
    [
      'an add of nothing, and then something',
      { rows: [range(5n, 0), range(7n, 1, 3, 2)] },
      { rowIDs: [formatRowId({ version: 7n, ordinal: 2, index: 3 })] },
    ],
  ])('the answer to %s has its data', async (_name, result, data) => expect(await dataOf(result)).toEqual(data));

  test.each([1, 4095, 4096, 4097, 8192, 20_000, 20_001, 300_000])('an add of %i rows', async (count) => {
    const keeps = { ...range(8n, 5000, 1), keeps: 'a' } as const;
    const result = { rows: [range(2n ** 40n, 1, 77), range(2n ** 62n, count, 9999, 3), keeps, range(5n, 4096)] };
    expect(await dataOf(result)).toEqual({ rowIDs: idsOf(result) });
  });
});

test.each([1, 2, 500, 5000])('the data of an import of %i extents with as many rows each', async (extents) => {
  for (const count of [1, 7]) {
    const keeps = { ...range(8n, 11, 0, 9), extents, retainedIn: tableId } as const;
    const result = {
      rows: [{ ...range(5n, count), extents }, range(5n, 3, 0, extents), keeps, { ...range(6n, 0), extents }],
    };
    expect(await dataOf(result)).toEqual({ rowIDs: idsOf(result) });
  }
});

test('retained IDs are read extent by extent', async () => {
  const asked: RowRange[] = [];
  const find = async (extent: RowRange): Promise<Map<number, string>> => {
    asked.push(extent);
    return new Map();
  };
  await encloseResult(
    '',
    {
      rows: [
        { ...range(5n, 2, 0, 3), extents: 3, retainedIn: tableId },
        { ...range(5n, 2, 0, 6), extents: 2 },
      ],
    },
    '',
    find,
  );
  expect(asked).toEqual([3, 4, 5].map((ordinal) => ({ ...range(5n, 2, 0, ordinal), retainedIn: tableId })));
});

test('millions of IDs are built only as they are read', async () => {
  const made = await encloseResult('', { rows: [range(5n, 10_000_000)] }, '', findRetained);
  expect(made).toBeInstanceOf(Readable);
  (made as Readable).destroy();
});
