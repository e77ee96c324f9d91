/**
 * CSV and TSV bodies (spec 4.12, decisions 2, 3 and 6): adding their rows to a table, overwriting a table with them,
 * and values that do not fit.
 */
import { describe, expect, test } from '@jest/globals';
import Papa from 'papaparse';
import { scale } from '../scale.ts';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { csv, tsv } from '../support/media-types.ts';
import { fc, uncut } from '../support/property.ts';
import { cellsOf, createTable, leavingUnchanged, stateOf, type MadeTable } from '../support/tables.ts';

const { client } = useApi();
const malformed = '400 request_validation_error';

const add = (table: MadeTable, body: string, mode = 'abort', headers: Record<string, string> = csv): Promise<Answer> =>
  client().post(`${table.path}?onSchemaError=${mode}`, body, headers);

async function lastRows(table: MadeTable, answer: Answer): Promise<Record<string, unknown>[]> {
  expect(outcomeOf(answer)).toBe('201');
  const ids: string[] = answer.json.data.rowIDs;
  const rows = (await client().rows(table.id)).slice(-ids.length);
  expect(rows.map((row) => row['$rowID'])).toEqual(ids);
  return cellsOf(rows);
}

describe('adding rows', () => {
  const types = {
    n: 'number',
    s: 'string',
    b: 'boolean',
    d: 'date',
    j: 'json',
    l: { kind: 'array', items: { kind: 'number' } },
  };
  const makeTable = (): Promise<MadeTable> => createTable(client(), [{ n: 0, s: 'first' }], types);

  test('that fit', async () => {
    const table = await makeTable();
    const answer = await add(
      table,
      'l,j,d,b,s,n\n"[1, 2]","{""a"": [1,\n2]}",2024-02-29,TRUE,007, 4.20\n,null,,,"x\ny",\n',
    );
    expect(await lastRows(table, answer)).toEqual([
      { n: 4.2, s: '007', b: true, d: '2024-02-29', j: { a: [1, 2] }, l: [1, 2] },
      { s: 'x\ny' },
    ]);
    expect((await client().get(table.path)).text).toContain('"n":4.20,"s":"007"');
  });

  test.each<[string, string, string]>([
    ['n\n1\n007\n', '422 column_has_invalid_value', 'rows[1].n: "007" does not fit the column\'s type number'],
    [
      'n\n9007199254740993\n',
      '422 column_has_invalid_value',
      'rows[0].n: "9007199254740993" does not fit the column\'s type number',
    ],
    ['n\n1e400\n', '422 column_has_invalid_value', 'rows[0].n: "1e400" does not fit the column\'s type number'],
    ['b\nyes\n', '422 column_has_invalid_value', 'rows[0].b: "yes" does not fit the column\'s type boolean'],
    ['d\n2024-02-30\n', '422 column_has_invalid_value', 'rows[0].d: "2024-02-30" does not fit the column\'s type date'],
    ['j\n{a:1}\n', '422 column_has_invalid_value', 'rows[0].j: "{a:1}" does not fit the column\'s type json'],
    ['l\n1\n', '422 column_has_invalid_value', 'rows[0].l: "1" does not fit the column\'s type array<number>'],
    ['s,d,n\nx,,\n,x,y\n', '422 column_has_invalid_value', 'rows[1].d: "x" does not fit the column\'s type date'],
    ['n,x\n1,\n', '422 column_id_not_found', 'rows[0].x: the table has no column "x"'],
    ['n,x\n', '422 column_id_not_found', 'rows[0].x: the table has no column "x"'],
    ['$stashID\n', '422 column_id_reserved', 'header[0]: the column ID "$stashID" is reserved'],
    ['n,$stashID\nx,1\n', '422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'],
    ['x,$stashID\n1,1\n', '422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'],
  ])('%j is refused', async (body, outcome, message) => {
    const table = await makeTable();
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await add(table, body);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
    });
  });

  test.each<[string, string | null]>([
    ['n,s\n1,x\n', null],
    ['n,s\n1\n\n2,x\n3\n', '2'],
    ['n,s\n', null],
    [`n,s\n${'1\n'.repeat(25_000)}`, '25000'],
  ])('lines that are shorter than the header are counted: %#', async (body, shortLines) => {
    const [table, stash] = [await makeTable(), `/stashes/short-lines-${Math.random().toString(36).slice(2)}/1`];
    const answers = [
      await add(table, body),
      await client().put(table.path.replace(/\/rows$/, ''), body, csv),
      await client().put(stash, body, csv),
      await client().post('/tables?name=short', body, csv),
      await client().post(`/tables?name=short`, body.replaceAll(',', '\t'), {
        ...tsv,
        'x-service-asynchronous': 'true',
      }),
    ];
    expect(answers.map(({ status }) => status < 300)).toEqual(answers.map(() => true));
    expect(answers.map(({ headers }) => headers.get('tablog-short-lines'))).toEqual(answers.map(() => shortLines));
  });

  test.each(['abort', 'dropColumns', 'updateSchema'])(
    'every format of cells refuses a reserved column under %s',
    async (mode) => {
      const table = await makeTable();
      await leavingUnchanged(client(), table.path, async () => {
        const answers = [
          await add(table, 'n,$stashID\n1,2\n', mode),
          await client().put(`/tables/${table.id}?onSchemaError=${mode}`, 'n,$stashID\n1,2\n', csv),
          await client().post(`/tables?name=n&onSchemaError=${mode}`, 'n,$stashID\n1,2\n', csv),
          await client().put('/stashes/reserved/1', 'n,$stashID\n1,2\n', csv),
        ];
        const refused = ['422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'];
        expect(answers.map((answer) => [outcomeOf(answer), answer.json.error.message])).toEqual(
          answers.map(() => refused),
        );
      });
    },
  );

  test('dropColumns empties the cells that do not fit', async () => {
    const table = await makeTable();
    const answer = await add(table, 'n,x,b,l,j\n007,1,TRUE,3,{\n5,1,no,[3],[]\n', 'dropColumns');
    expect(await lastRows(table, answer)).toEqual([{ b: true }, { n: 5, l: [3], j: [] }]);
  });

  test('updateSchema widens and appends columns, also for older rows', async () => {
    const table = await makeTable();
    const answer = await add(table, 'n,x,l,d\n007,4.20,3,2024-01-01T10:00\n1,,[4],\n', 'updateSchema');
    expect(await lastRows(table, answer)).toEqual([
      { n: '007', x: 4.2, l: [3], d: '2024-01-01T10:00' },
      { n: '1', l: [4] },
    ]);
    expect(cellsOf(await client().rows(table.id))[0]).toEqual({ n: '0', s: 'first' });
    const misfit = await add(table, 'j\nx\n', 'updateSchema');
    expect(misfit.json.error.message).toBe('rows[0].j: "x" does not fit the column\'s type json');
  });

  test.each(['abort', 'dropColumns', 'updateSchema'])(
    'a header without rows changes no version under %s',
    async (mode) => {
      const table = await makeTable();
      await leavingUnchanged(client(), table.path, async () => {
        const answer = await add(table, mode === 'abort' ? 'n\n' : 'n,x\n', mode);
        expect([outcomeOf(answer), answer.version, answer.json.data.rowIDs]).toEqual(['201', table.version, []]);
      });
    },
  );

  test('with If-Match and Idempotency-Key', async () => {
    const table = await makeTable();
    const headers = { ...csv, 'if-match': `"${table.version}"`, 'idempotency-key': `csv ${table.id}` };
    const first = await client().post(table.path, 'n\n1\n', headers);
    expect(outcomeOf(first)).toBe('201');
    expect((await client().post(table.path, 'n\n1\n', headers)).text).toBe(first.text);
    expect(outcomeOf(await client().post(table.path, 'n\n1\n', { ...headers, ...tsv }))).toBe(
      '400 idempotency_key_reused',
    );
    expect(outcomeOf(await client().post(table.path, 'n\n2\n', { ...csv, 'if-match': `"${table.version}"` }))).toBe(
      '412 precondition_failed',
    );
  });
});

describe('overwriting a table', () => {
  const overwrite = (table: MadeTable, body: string, mode = 'abort'): Promise<Answer> =>
    client().send(`/tables/${table.id}?onSchemaError=${mode}`, { method: 'PUT', body, headers: csv });

  test('keeps the row IDs of a column $rowID', async () => {
    const table = await createTable(client(), [{ n: 1 }, { n: 2 }, { n: 3 }]);
    const answer = await overwrite(table, `n,$rowID\n30,${table.rowIds[2]}\n40,\n10,${table.rowIds[0]}\n`);
    expect(outcomeOf(answer)).toBe('200');
    const { rowIDs } = answer.json.data;
    expect([rowIDs[0], rowIDs[2]]).toEqual([table.rowIds[2], table.rowIds[0]]);
    expect(await client().rows(table.id)).toEqual([30, 40, 10].map((n, at) => ({ $rowID: rowIDs[at], n })));
    const rows = Array.from({ length: 12_000 }, (_, n) => `${n},${n === 11_999 ? rowIDs[1] : ''}\n`);
    const large = await overwrite(table, `n,$rowID\n${rows.join('')}`);
    expect(large.json.data.rowIDs.at(-1)).toBe(rowIDs[1]);
    expect((await client().get(`${table.path}/${rowIDs[1]}`)).json.data).toEqual({ $rowID: rowIDs[1], n: 11_999 });
  });

  test.each<[string, string, string]>([
    ['n,$rowID\n1,x\n', malformed, "rows[0].$rowID: it is no row's ID"],
    ['n,$rowID\n1,\n1,AAAAAAAAAAAAAAAAAAAAAA\n', malformed, "rows[1].$rowID: it is no row's ID"],
    ['n,x\n', '422 column_id_not_found', 'rows[0].x: the table has no column "x"'],
    ['n\nx\n', '422 column_has_invalid_value', 'rows[0].n: "x" does not fit the column\'s type number'],
    ['', malformed, 'the body has no header: its first line must name the columns'],
  ])('with %j is refused', async (body, outcome, message) => {
    const table = await createTable(client(), [{ n: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await overwrite(table, body);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
    });
  });

  test('removes all rows if the body has only a header', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    expect((await overwrite(table, 'n\n')).json.data.rowIDs).toEqual([]);
    expect(await client().rows(table.id)).toEqual([]);
    expect(outcomeOf(await overwrite(table, 'n,x\n', 'updateSchema'))).toBe('200');
    expect(outcomeOf(await add(table, 'x\n1\n'))).toBe('201');
  });
});

describe('large bodies', () => {
  const count = 25_000;
  const rows = Array.from({ length: count }, (_, at) => ({
    n: at,
    code: String(at).padStart(6, '0'),
    text: `"row", ${at}\n`,
  }));
  const body = Papa.unparse(rows);

  test('come back in order, are patched, and are widened', async () => {
    const created = await client().post('/tables?name=n', body, csv);
    const { tableID, rowIDs } = created.json.data;
    const table = { id: tableID, path: `/tables/${tableID}/rows`, rowIds: rowIDs, version: created.version! };
    expect(await lastRows(table, created)).toEqual(rows);
    expect(outcomeOf(await client().patch(`${table.path}/${table.rowIds[count - 1]}`, { code: 5 }))).toBe('200');
    expect(outcomeOf(await add(table, 'n\nx\n', 'updateSchema'))).toBe('201');
    const read = cellsOf(await client().rows(table.id));
    expect(read.slice(0, count - 1)).toEqual(rows.slice(0, -1).map((row) => ({ ...row, n: String(row.n) })));
    expect(read.slice(count - 1)).toEqual([{ ...rows.at(-1), n: String(count - 1), code: '5' }, { n: 'x' }]);
  });

  test('are added to columns that convert them', async () => {
    const table = await createTable(client(), [], { text: 'markdown', code: 'number', n: 'string' });
    const refused = await add(table, body);
    expect(refused.json.error.message).toBe('rows[0].code: "000000" does not fit the column\'s type number');
    expect(await lastRows(table, await add(table, body, 'dropColumns'))).toEqual(
      rows.map(({ n, text }) => ({ n: String(n), text })),
    );
  });

  test('are refused as a whole because of their last cell', async () => {
    const table = await createTable(client(), [], { n: 'number', code: 'string', text: 'string' });
    const before = await stateOf(client(), table.path);
    const misfit = await add(table, `${body}\r\nx,y,z`);
    expect(misfit.json.error.message).toBe(`rows[${count}].n: "x" does not fit the column's type number`);
    expect(outcomeOf(await add(table, `${body}\r\n1,2,"`))).toBe(malformed);
    expect(await stateOf(client(), table.path)).toEqual(before);
  });
});

test('texts of any kind come back unchanged in columns of strings', async () => {
  const text = fc
    .oneof(
      fc.constantFrom(
        '',
        '007',
        '4.20',
        'TRUE',
        'null',
        ' 5',
        '"',
        'a,b',
        'x\r\ny',
        '\t',
        '[1]',
        '\\',
        '\u0001',
        '\ufeff',
        '2024-01-01',
        '😀',
      ),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    )
    .filter((value) => !value.includes('\0'));
  const bodies = fc.tuple(
    fc.array(fc.record({ a: text, b: text, c: text }), { minLength: 1, maxLength: 150 }),
    fc.constantFrom(csv, tsv),
    fc.constantFrom('\n', '\r\n'),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async ([rows, headers, newline]) => {
      const table = await createTable(client(), [], { a: 'string', b: 'string', c: 'string' });
      const written = Papa.unparse(rows, { newline, delimiter: headers === csv ? ',' : '\t' });
      const wanted = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '')));
      expect(await lastRows(table, await add(table, written, 'abort', headers))).toEqual(wanted);
    }),
    { ...uncut, numRuns: scale.textBodies },
  );
});
