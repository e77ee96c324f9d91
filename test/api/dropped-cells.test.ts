/**
 * `onSchemaError=dropColumns`: which cells are dropped, and how answers count them (docs/spec/decisions.md 2 and 3).
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { promptly, useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { csv } from '../support/media-types.ts';
import { newStashId, stashOf } from '../support/stashes.ts';
import { cellsOf, createTable, leavingUnchanged, type MadeTable } from '../support/tables.ts';

const { client } = useApi(promptly);
const drop = 'onSchemaError=dropColumns';
const types = { n: 'number', s: 'string' } as const;

/** The outcome of an answer, and its count of dropped cells. */
const told = (answer: Answer): [string, string | null] => [
  outcomeOf(answer),
  answer.headers.get('tablog-dropped-cells'),
];
const newTable = (): Promise<MadeTable> => createTable(client(), [{ n: 0, s: 'old' }], types);
const rowsOf = async ({ id }: { readonly id: string }): Promise<unknown[]> => cellsOf(await client().rows(id));

/** Rows, the rows as a table with these columns stores them, and how many cells are dropped. */
const cases: readonly (readonly [string, unknown, Record<string, string>, unknown[], number])[] = [
  ['nothing', [{ n: 1 }], {}, [{ n: 1 }], 0],
  ['no rows', [], {}, [], 0],
  [
    'mismatches and unknown columns',
    [
      { n: 'x', s: 'y', u: 1 },
      { u: null, v: [2], n: 2 },
    ],
    {},
    [{ s: 'y' }, { n: 2 }],
    3,
  ],
  [
    'ill-formed texts',
    '[{"n":"\\u0000","s":"\\ud800"},{"n":1,"s":"ok","u":{"\\udc00":1}}]',
    {},
    [{}, { n: 1, s: 'ok' }],
    3,
  ],
  [
    'long texts',
    [
      { n: 1, s: 'x'.repeat(300_000) },
      { n: 2, s: 'x'.repeat(3_000_000) },
    ],
    {},
    [{ n: 1 }, { n: 2 }],
    2,
  ],
  ['cells', 'n,s,u\nx,y,\n1,\0,z\n', csv, [{ s: 'y' }, { n: 1 }], 3],
  ['a header', 'n,u\n', csv, [], 0],
  [
    'a block',
    Array.from({ length: 500 }, (_row, n) => ({ n: n % 2 === 0 ? n : 'x', u: 1 })),
    {},
    Array.from({ length: 500 }, (_row, n) => (n % 2 === 0 ? { n } : {})),
    750,
  ],
  [
    'several blocks',
    Array.from({ length: 25_000 }, (_row, n) => ({ n, u: n % 10 === 0 ? '😀' : null })),
    {},
    Array.from({ length: 25_000 }, (_row, n) => ({ n })),
    2500,
  ],
];

describe.each(cases)('%s', (_name, body, headers, kept, dropped) => {
  const count = String(dropped);

  test('cells that are dropped from added rows are counted', async () => {
    const table = await newTable();
    expect(told(await client().post(`${table.path}?${drop}`, body, headers))).toEqual(['201', count]);
    expect(await rowsOf(table)).toEqual([{ n: 0, s: 'old' }, ...kept]);
  });

  test('instead of others', async () => {
    const table = await newTable();
    expect(told(await client().put(`/tables/${table.id}?${drop}`, body, headers))).toEqual(['200', count]);
    expect(await rowsOf(table)).toEqual(kept);
  });

  test('added by a job', async () => {
    const table = await newTable();
    const answer = await client().post(`${table.path}?${drop}`, body, { ...headers, 'x-service-asynchronous': 'true' });
    expect(told(answer)).toEqual(['202', null]);
    const { jobID } = answer.json.data;
    await untilDone(client(), jobID);
    expect((await client().get(`/jobs/${jobID}/progress`)).json.data).toMatchObject({
      phase: 'done',
      rowsDone: kept.length,
      cellsDropped: dropped,
    });
    expect(await rowsOf(table)).toEqual([{ n: 0, s: 'old' }, ...kept]);
  });

  test('by way of a stash', async () => {
    const stash = newStashId();
    const chunk = await client().put(`/stashes/${stash}/1?${drop}`, body, headers);
    expect([outcomeOf(chunk), Number(chunk.headers.get('tablog-dropped-cells')) <= dropped]).toEqual(['200', true]);
    const table = await newTable();
    expect(told(await client().post(`${table.path}?${drop}`, { $stashID: stash }))).toEqual(['201', count]);
    expect(await rowsOf(table)).toEqual([{ n: 0, s: 'old' }, ...kept]);
  });
});

describe('a new table', () => {
  test('with a schema', async () => {
    const body = {
      name: 'made',
      schema: { columns: [{ id: 'n', type: 'number' }] },
      rows: [{ n: 1, u: 2 }, { n: 'x' }],
    };
    expect(told(await client().post(`/tables?${drop}`, body))).toEqual(['201', '2']);
  });

  test('has an inferred schema, without the dropped cells', async () => {
    const made = await client().post(`/tables?name=made&${drop}`, '[{"a":1,"b":"\\u0000"},{"a":[2],"c":"\\ud800"}]');
    expect(told(made)).toEqual(['201', '2']);
    expect(await rowsOf({ id: made.json.data.tableID })).toEqual([{ a: [1] }, { a: [2] }]);
  });
});

test.each<[string, unknown, Record<string, string>, string[]]>([
  ['a JSON cell that is left out names no column', '[{"a":1,"b":"\\u0000"},{"a":2}]', {}, ['a']],
  ['another cell of the column names it', '[{"b":"\\ud800","a":1},{"b":1}]', {}, ['a', 'b']],
  ['a header names its columns', 'a,b\n1,\0\n', csv, ['a', 'b']],
])('an inferred schema: %s', async (_name, body, headers, columns) => {
  const made = await client().post(`/tables?name=made&${drop}`, body, headers);
  const { json } = await client().get(`/tables/${made.json.data.tableID}`);
  expect(json.data.schema.columns.map(({ id }: { id: string }) => id)).toEqual(columns);
});

test('a create from a stash that never existed counts no cells', async () => {
  const body = { name: 'made', schema: { columns: [{ id: 'a', type: 'string' }] }, rows: { $stashID: newStashId() } };
  expect(told(await client().post(`/tables?${drop}`, body))).toEqual(['201', null]);
});

test.each<[string, unknown, Record<string, string>]>([
  ['JSON', [{ n: 1, $rowID: 'x'.repeat(300_000) }], {}],
  ['CSV', `n,$rowID\n1,${'x'.repeat(300_000)}\n`, csv],
])(
  'a row ID that is longer than a cell, in %s, is refused as a cell is; with dropColumns it is ignored where row IDs are',
  async (_name, body, headers) => {
    const table = await newTable();
    expect(told(await client().post(table.path, body, headers))).toEqual(['400 limit_exceeded', null]);
    expect(told(await client().put(`/tables/${table.id}`, body, headers))).toEqual(['400 limit_exceeded', null]);
    expect(told(await client().post(`${table.path}?${drop}`, body, headers))).toEqual(['201', '0']);
    expect(told(await client().put(`/tables/${table.id}?${drop}`, body, headers))).toEqual([
      '400 request_validation_error',
      null,
    ]);
  },
);

describe('a patch', () => {
  test.each<[string, string, unknown, string]>([
    ['mismatches', '{"n":"x","u":1,"s":"new"}', { n: 0, s: 'new' }, '2'],
    ['ill-formed texts', '{"n":5,"s":"\\ud800"}', { n: 5, s: 'old' }, '1'],
    ['long texts', `{"n":null,"s":"${'x'.repeat(600_000)}"}`, { s: 'old' }, '1'],
    ['nothing', '{"n":0}', { n: 0, s: 'old' }, '0'],
    ['all', '{"u":"\\u0000"}', { n: 0, s: 'old' }, '1'],
  ])('a patch counts the cells that it drops: %s', async (_name, body, row, dropped) => {
    const table = await newTable();
    const [{ $rowID }] = (await client().rows(table.id)) as [{ $rowID: string }];
    expect(told(await client().patch(`${table.path}/${$rowID}?${drop}`, body))).toEqual(['200', dropped]);
    expect(await rowsOf(table)).toEqual([row]);
  });
});

test('a repeated request gets the same count', async () => {
  const table = await newTable();
  const send = (): Promise<Answer> =>
    client().post(`${table.path}?${drop}`, [{ n: 'x', u: 1 }], { 'idempotency-key': key });
  const key = randomUUID();
  expect([told(await send()), told(await send())]).toEqual([
    ['201', '2'],
    ['201', '2'],
  ]);
});

describe('a stash', () => {
  test('reports for each chunk how many cells were dropped', async () => {
    expect(
      told(await client().put(`/stashes/${newStashId()}/1?${drop}`, '[{"a":"\\u0000","b":"\\ud800","c":1}]')),
    ).toEqual(['200', '2']);
    expect(told(await client().put(`/stashes/${newStashId()}/1`, [{ a: 1 }]))).toEqual(['200', null]);
  });

  test('is not counted if its chunks were not counted', async () => {
    const table = await newTable();
    const stash = await stashOf(client(), { 1: [{ n: 'x' }] });
    expect(told(await client().post(`${table.path}?${drop}`, { $stashID: stash }))).toEqual(['201', null]);
    await client().put(`/stashes/${stash}/2?${drop}`, [{ n: 'x' }]);
    expect(told(await client().post(`${table.path}?${drop}`, { $stashID: stash }))).toEqual(['201', null]);
    await client().put(`/stashes/${stash}/1?${drop}`, [{ n: 'x' }]);
    expect(told(await client().post(`${table.path}?${drop}`, { $stashID: stash }))).toEqual(['201', '2']);
  });

  test.each<
    [
      string,
      chunks: readonly (readonly [query: string, body: unknown, headers?: Record<string, string>])[],
      count: string | null,
    ]
  >([
    [
      'a header alone, not counted',
      [
        [`?${drop}`, [{ n: 'x' }]],
        ['', 'n,u\n', csv],
      ],
      '1',
    ],
    [
      'no rows, not counted',
      [
        ['', []],
        [`?${drop}`, [{ n: 'x' }]],
      ],
      '1',
    ],
    [
      'nothing but no rows',
      [
        ['', []],
        ['', 'n\n', csv],
      ],
      '0',
    ],
    [
      'a row without cells, not counted',
      [
        [`?${drop}`, [{ n: 'x' }]],
        ['', [{}]],
      ],
      null,
    ],
    [
      'a line without cells, not counted',
      [
        ['', '$rowID\n""\n', csv],
        [`?${drop}`, [{ n: 'x' }]],
      ],
      null,
    ],
    [
      'rows without cells, one of them counted',
      [
        [`?${drop}`, [{}]],
        ['', [{}]],
        [`?${drop}`, [{ n: 'x' }]],
      ],
      null,
    ],
    [
      'rows without cells, counted',
      [
        [`?${drop}`, [{}]],
        [`?${drop}`, '$rowID\n""\n', csv],
      ],
      '0',
    ],
  ])('a stash counts the chunks that dropped cells: %s', async (_name, chunks, count) => {
    const stash = newStashId();
    for (const [serial, [query, body, headers]] of chunks.entries())
      await client().put(`/stashes/${stash}/${serial}${query}`, body, headers);
    const table = await newTable();
    expect(told(await client().put(`/tables/${table.id}?${drop}`, { $stashID: stash }))).toEqual(['200', count]);
  });

  test('can be imported in any way if its chunks were counted', async () => {
    const table = await newTable();
    const stash = newStashId();
    await client().put(`/stashes/${stash}/1?${drop}`, '[{"n":1,"s":"\\u0000"}]');
    expect(told(await client().post(table.path, { $stashID: stash }))).toEqual(['201', null]);
    expect(await rowsOf(table)).toEqual([{ n: 0, s: 'old' }, { n: 1 }]);
  });

  test('cannot update a schema', async () => {
    expect(told(await client().put(`/stashes/${newStashId()}/1?onSchemaError=updateSchema`, []))).toEqual([
      '400 request_validation_error',
      null,
    ]);
  });
});

test.each(['abort', 'updateSchema'])('%s refuses cells that no row may hold', async (mode) => {
  const table = await newTable();
  await leavingUnchanged(client(), table.path, async () => {
    for (const body of ['[{"s":"\\u0000"}]', '[{"s":"\\ud800"}]']) {
      expect(told(await client().post(`${table.path}?onSchemaError=${mode}`, body))).toEqual([
        '400 request_validation_error',
        null,
      ]);
    }
    expect(told(await client().post(`${table.path}?onSchemaError=${mode}`, [{ s: 'x'.repeat(300_000) }]))).toEqual([
      '400 limit_exceeded',
      null,
    ]);
  });
});
