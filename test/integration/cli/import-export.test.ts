/** Files into tables and back by the command line: formats, choice of the table, stdin and stdout, settings. */
import { access, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import Papa from 'papaparse';
import { isFull } from '../../scale.ts';
import { useCommandLine, type Imported } from '../../support/command-line.ts';
import { readContent, readDataSet, writeContent } from '../../support/files.ts';
import { freePort, sleepUntil } from '../../support/server.ts';
import { cellsOf } from '../../support/tables.ts';
import { runTablog, type RunningTablog, type TablogResult } from '../../support/tablog.ts';

const { folder, relay, client, tablog, output, imported, fileOf, stateOfStash } = useCommandLine();

/** On a busy machine an import may take longer than the first line of progress. */
function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^\d+ rows, .* a second.*\n/gm, '');
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe('files of each format are imported and exported', () => {
  /** Compares scalars by their texts, because the type of a column may present a number as a string. */
  const texts = (json: string): unknown =>
    JSON.parse(json, function (_key: string, value: unknown, { source }: { source: string }) {
      if (Array.isArray(value)) return value;
      if (typeof value !== 'object') return typeof value === 'string' ? value : source;
      return value === null
        ? null
        : Object.entries(value as object)
            .filter(([, cell]) => cell !== null)
            .toSorted(([a], [b]) => (a < b ? -1 : 1));
    } as Parameters<typeof JSON.parse>[1]);
  // Numbers such as .097 come back with a digit before the point.
  const cells =
    (delimiter: string) =>
    (text: string): unknown =>
      Papa.parse(text.trimEnd().replaceAll(/(?<=\t)\.(?=\d)/g, '0.'), { delimiter }).data;
  const lines = (text: string): unknown => text.trimEnd().split('\n').map(texts);

  const files: readonly (readonly [string, (text: string) => unknown, (text: string) => string])[] = [
    ['zipcodes.csv', cells(','), (text) => text],
    ['airports.csv', cells(','), (text) => text],
    ['unemployment.tsv', cells('\t'), (text) => text],
    ['movies.json', texts, (text) => text],
    ['cars.json', texts, (text) => text],
    [
      'flights-5k.ndjson',
      lines,
      (text) =>
        JSON.parse(text)
          .map((row: object) => JSON.stringify(row))
          .join('\n'),
    ],
  ];

  // One of each format; in the full run all of them.
  test.each(isFull ? files : [files[1]!, files[2]!, files[4]!, files[5]!])(
    '%s is exported as it was imported',
    async (file, read, make) => {
      const content = make(await readDataSet(file.replace('.ndjson', '.json')));
      const wanted = read(content) as unknown[];
      for (const [from, to] of isFull
        ? ([
            ['.gz', '.zst'],
            ['.zst', '.gz'],
          ] as const)
        : ([['.gz', '.zst']] as const)) {
        const source = await writeContent(join(folder(), `${file}${from}`), content);
        const { tableID, rows } = await imported(source, '--table', file, '--create');
        expect(rows).toBe(file.endsWith('sv') ? wanted.length - 1 : wanted.length);
        const target = join(folder(), `out-${file}${to}`);
        await output('export', tableID, '--output', target);
        expect(read(await readContent(target))).toEqual(wanted);
      }
    },
  );

  test('numbers keep their digits, and cells their text', async () => {
    const source = await fileOf('digits.ndjson', [
      '{"n":4.20,"big":123456789012345678e10,"list":[0.10,1E+2],"text":"4.20","json":{"a":[1.0, "x"]}}',
      '{"n":-0.0,"text":"\\u00e9\\n\\""}',
    ]);
    const { tableID } = await imported(source, '--table', 'digits');
    expect(await output('export', tableID, '--format', 'ndjson')).toBe(
      [
        '{"n":4.20,"big":123456789012345678e10,"list":[0.10,1E+2],"text":"4.20","json":{"a":[1.0, "x"]}}',
        '{"n":-0.0,"text":"\\u00e9\\n\\""}',
        '',
      ].join('\n'),
    );
    expect(await output('export', tableID)).toBe(
      [
        'n,big,list,text,json',
        '4.20,123456789012345678e10,"[0.10,1E+2]",4.20,"{""a"":[1.0, ""x""]}"',
        '-0.0,,,"é\n""",',
        '',
      ].join('\n'),
    );
  });

  test('other delimiters and encodings are read', async () => {
    const source = join(folder(), 'umsatz.csv');
    await writeFile(source, Buffer.from('Größe;Preis\n"M;L";1,50\nS;2\n', 'latin1'));
    const created = await tablog(['import', source, '--table', 'umsatz', '--encoding', 'windows-1252']);
    expect(created).toMatchObject({
      code: 0,
      stderr:
        'The file seems to have semicolons between its cells. If that is wrong, give --delimiter.\nPreis: text because of 1 of 2 cells: 1,50 in line 2. --decimal=, would help.\n',
    });
    expect(await output('export', 'umsatz')).toBe('Größe,Preis\nM;L,"1,50"\nS,2\n');
    const refused = await tablog(['import', source, '--table', 'umsatz', '--delimiter', ';']);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('umsatz.csv, line 1: the text is not UTF-8; if it has another encoding, give --encoding'),
    ]);
  });

  test('the first sheet of a workbook is read, or another one', async () => {
    const workbook = join(import.meta.dirname, '../../fixtures/workbooks/people.xlsx');
    const created = await tablog(['import', workbook, '--table', 'guests']);
    expect([created.code, created.stderr.trimEnd().split('\n')]).toEqual([
      0,
      [
        'of 4 sheets only "People & Co" is read; the others are "hidden" (hidden), "Other", "empty".',
        '2 cells with errors of formulas are empty: #DIV/0! in J2.',
      ],
    ]);
    expect(await output('export', 'guests')).toBe(
      [
        'id,name,born,seen,at,spent,score,ok,sum,error,big',
        '1,"Ada, ""the first""",1915-12-10,2024-12-31T10:00:00,09:30:00,PT36H30M,0.3,true,2,,9007199254740992',
        '2,"two\nlines",2024-12-31,2024-12-31T10:00:00.250,23:59:59,,1e-7,false,4,,12',
        '3,"plain, bold",1900-01-01,1900-03-01T00:00:00,,,-4.5,,,,',
        '4,"  00501 äöü 😀 ",,9999-12-31T23:59:59,,,,,,,',
        '',
      ].join('\n'),
    );
    expect((await tablog(['import', workbook, '--table', 'other sheet', '--sheet', 'Other'])).code).toBe(0);
    expect(await output('export', 'other sheet')).toBe('n,text\n1,second sheet\n');
    const refused = await tablog(['import', workbook, '--table', 'other sheet', '--sheet', 'Nowhere']);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `${workbook}: the workbook has no sheet "Nowhere": it has "hidden" (hidden), "People & Co", "Other", "empty"\n`,
    ]);
    expect((await tablog(['import', workbook, '--table', 'other sheet'])).stderr).toContain(
      `${workbook}, line 2 (row 1): column_id_not_found`,
    );
    expect((await tablog(['import', workbook, '--table', 'other sheet', '--format', 'csv'])).stderr).toBe(
      `${workbook}: this is an Excel workbook, not text: its format is xlsx\n`,
    );
  });

  test('JSON is read in each form that people have', async () => {
    const wrapped = await fileOf('wrapped.json', ['{"total":2,"data":[{"a":1},', '{"a":2}]}']);
    expect(await tablog(['import', wrapped, '--table', 'wrapped'])).toMatchObject({
      code: 0,
      stderr: 'data: its objects are the rows.\n',
    });
    expect(await output('export', 'wrapped')).toBe('a\n1\n2\n');
    const two = await fileOf('two.json', ['{"a":[{"n":1}],', '"b":[{"n":2}]}']);
    expect(await tablog(['import', two, '--table', 'two'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${two}, line 2: two members are arrays of objects: "a" and "b"\n`),
    });
  });

  test('columns without a name get one, and columns without values too are left out', async () => {
    const source = await fileOf('index.csv', [',n,,', ...numbers(1500).map((n) => `${n},x,,${n > 1400 ? n : ''}`)]);
    const created = await tablog(['import', source, '--table', 'index']);
    // The last column has values in the second chunk only.
    const notes = [
      'column_1: had no name.',
      'column_3: had no name and no values, and was left out.',
      'column_4: had no name.',
    ];
    expect([created.code, created.stderr.trimEnd().split('\n').toSorted()]).toEqual([0, notes]);
    expect((await output('export', 'index')).split('\n')[0]).toBe('column_1,n,column_4');
  });

  test('files as people have them are read', async () => {
    const cases: readonly (readonly [string, string, readonly string[], readonly object[], string])[] = [
      [
        'marks',
        "#\n'a'|b\n'x\\'|\n'|2\n",
        ['--delimiter', '|', '--quote', "'", '--escape', '\\', '--comment', '#'],
        [{ a: "x'|\n", b: 2 }],
        '',
      ],
      [
        'headless',
        '1,\n2,x\n',
        ['--no-header', '--column', 'column_2=name'],
        [{ column_1: 1 }, { column_1: 2, name: 'x' }],
        '',
      ],
      [
        'sep',
        'sep=^\ra^b\r1^2\r\u001a',
        [],
        [{ a: 1, b: 2 }],
        'The file seems to have "^" between its cells. If that is wrong, give --delimiter.\nCtrl-Z at the end: was left out.\n',
      ],
    ];
    await Promise.all(
      cases.map(async ([name, text, flags, rows, told]) => {
        const source = await writeContent(join(folder(), `people-${name}.csv`), text);
        const { code, stdout, stderr } = await tablog([
          'import',
          source,
          '--table',
          `people-${name}`,
          '--json',
          ...flags,
        ]);
        expect([name, code, withoutProgress(stderr)]).toEqual([name, 0, told]);
        const { tableID, rows: count } = JSON.parse(stdout) as Imported;
        expect([name, count, cellsOf(await client().rows(tableID))]).toEqual([name, rows.length, rows]);
      }),
    );
  });

  test('columns of a table are found by ID, by display name or by --column', async () => {
    const schema = {
      columns: [
        { id: 'name', displayName: 'Full name', type: 'string' },
        { id: 'e\u0301', type: 'number' },
        { id: 'n', displayName: 'N', type: 'number' },
      ],
    };
    const { json } = await client().post('/tables', { name: 'shown', schema, rows: [] });
    const source = await writeContent(join(folder(), 'shown.csv'), 'Full name,e\u0301,n\nx,1,2\n');
    const first = await tablog(['import', source, '--table', 'shown']);
    expect([first.code, withoutProgress(first.stderr)]).toEqual([
      0,
      'By their display names: "Full name" is name. If that is wrong, give --column.\n',
    ]);
    const other = await writeContent(join(folder(), 'other.csv'), 'who=what,N\ny,3\n');
    const second = await tablog(['import', other, '--table', 'shown', '--column', 'who=what=name', '--column', 'N=n']);
    expect([second.code, withoutProgress(second.stderr)]).toEqual([0, '']);
    expect(cellsOf(await client().rows(json.data.tableID))).toEqual([
      { 'name': 'x', 'e\u0301': 1, 'n': 2 },
      { name: 'y', n: 3 },
    ]);
  });

  test('a thousand columns with long display names are found', async () => {
    const names = Array.from({ length: 1_000 }, (_, at) => `Column ${at}, as it is shown to people, ${'x'.repeat(80)}`);
    const columns = names.map((displayName, at) => ({ id: `c${at}`, displayName, type: 'number' }));
    const { json } = await client().post('/tables', { name: 'long names', schema: { columns }, rows: [] });
    const header = names.map((name) => `"${name}"`).join(',');
    const source = await fileOf('long-names.csv', [header, names.map((_, at) => at).join(','), '']);
    const { code, stderr } = await tablog(['import', source, '--table', 'long names']);
    expect([code, withoutProgress(stderr)]).toEqual([
      0,
      expect.stringMatching(/^By their display names: "Column 0, .* is c0, .* and 990 more\. If that is wrong/),
    ]);
    expect(cellsOf(await client().rows(json.data.tableID))).toEqual([
      Object.fromEntries(columns.map(({ id }, at) => [id, at])),
    ]);
  });

  test('a file without a header has the columns that the service names', async () => {
    const source = await fileOf('headless.csv', ['007;1,5;31.12.2024', '8;2;1.1.2025', '']);
    const flags = ['--no-header', '--delimiter', ';', '--decimal', ',', '--date-format', 'd.m.y'];
    const named = ['--type', 'column_1=string', '--column', 'column_2=price'];
    const { tableID } = await imported(source, '--create', '--table', 'headless', ...flags, ...named);
    const rows = [
      { column_1: '007', price: 1.5, column_3: '2024-12-31' },
      { column_1: '8', price: 2, column_3: '2025-01-01' },
    ];
    expect(cellsOf(await client().rows(tableID))).toEqual(rows);
    const query = new URLSearchParams({
      name: 'headless too',
      header: 'absent',
      delimiter: ';',
      decimal: ',',
      dateFormat: 'd.m.y',
      types: '{"column_1":"string"}',
      columns: '{"column_2":"price"}',
    });
    const created = await client().send(`/tables?${query}`, {
      method: 'POST',
      body: await readFile(source),
      headers: { 'content-type': 'text/csv' },
    });
    expect(created.status).toBe(201);
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual(rows);
  });

  test('flags that contradict each other are refused', async () => {
    const [csv, json] = [await fileOf('refused.csv', ['a']), await fileOf('refused.json', ['[]'])];
    const refused = await Promise.all([
      tablog(['import', csv, '--table', 't', '--quote', ',']),
      tablog(['import', json, '--table', 't', '--no-header']),
      tablog(['import', csv, '--table', 't', '--column', 'a']),
    ]);
    expect(refused.map(({ code, stderr }) => [code, stderr.split('\n')[0]])).toEqual([
      [1, '--quote: it must not be the delimiter too.'],
      [1, '--no-header is for CSV and TSV.'],
      [
        1,
        "error: option '--column <name=id>' argument 'a' is invalid. It must be a name in the file and the ID of a column, such as \"Full name=name\".",
      ],
    ]);
  });

  test('flags say what cells mean, and the command reports columns that became text', async () => {
    const german = await fileOf('betrag.csv', [
      'Land;Betrag;Tag;zip',
      'CH;1.234,50;31.12.2024;8001',
      'DE;NA;1.1.2025;8002',
      '',
    ]);
    const named = await imported(
      german,
      '--table',
      'betrag',
      '--decimal',
      ',',
      '--date-format',
      'd.m.y',
      '--null',
      'NA',
      '--type',
      'zip=string',
      '--type',
      'Land=array<string>',
    );
    expect(cellsOf(await client().rows(named.tableID))).toEqual([
      { Land: ['CH'], Betrag: 1234.5, Tag: '2024-12-31', zip: '8001' },
      { Land: ['DE'], Tag: '2025-01-01', zip: '8002' },
    ]);
    const file = await fileOf('ages.csv', ['id,age,score', '1,NA,NULL', '2,35,4.5', '']);
    expect((await tablog(['import', file, '--table', 'ages'])).stderr).toContain(
      'age: text because of 1 of 2 cells: NA in line 2. --null=NA would help.\nscore: text because of 1 of 2 cells: NULL in line 2. --null=NULL would help.\n',
    );
    const stdin = await tablog(
      ['import', '-', '--format', 'csv', '--table', 'ages from stdin'],
      Readable.from('id,age\n1,NA\n2,35\n'),
    );
    expect(stdin.stderr).toContain('These columns became text because of some cells: age.');
    const before = (await client().get('/tables')).json.data.length;
    expect(await output('import', file, '--show-types')).toBe(
      'id: number\nage: string; 1 of 2 cells is a number; NA in line 2. --null=NA would help.\nscore: string; 1 of 2 cells is a number; NULL in line 2. --null=NULL would help.\n',
    );
    expect(JSON.parse(await output('import', file, '--show-types', '--json', '--null', 'NA'))).toMatchObject({
      rows: 2,
      columns: [
        { id: 'id', type: 'number' },
        { id: 'age', type: 'number' },
        { id: 'score', type: 'string' },
      ],
      texts: [
        {
          id: 'score',
          kind: 'number',
          filled: 2,
          misfits: 1,
          first: [{ line: 2, text: 'NULL' }],
          help: { null: ['NULL'] },
          helped: 1,
        },
      ],
    });
    expect((await client().get('/tables')).json.data).toHaveLength(before);
  });

  test('short lines are counted and reported', async () => {
    const source = await fileOf('short.csv', ['a,b', '1,x', ...numbers(1500).map((n) => `${n}`)]);
    const created = await tablog(['import', source, '--table', 'short']);
    // Chunks have a thousand rows.
    expect(created).toMatchObject({
      code: 0,
      stderr: '1,500 lines have fewer cells than the header: the columns of the missing cells are empty.\n',
    });
  });

  test('the command reports the result in one line', async () => {
    const source = await fileOf('said.csv', ['a', '1', '2']);
    const created = await tablog(['import', source, '--table', 'said']);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    expect(created.stdout).toMatch(
      /^2 rows imported into the new table "said" \([0-9a-f-]{36}\), version \d+, in [\d.]+ s \(\d+ rows\/s\)\.\n$/,
    );
    expect((await tablog(['import', source, '--table', 'said'])).stdout).toMatch(
      /^2 rows added to the table "said" \(/,
    );
    expect((await tablog(['import', source, '--table', 'said', '--overwrite'])).stdout).toMatch(
      /^2 rows replaced all rows of the table "said" \(/,
    );
    expect((await tablog(['export', 'said'])).stderr).toMatch(
      /^2 rows of the table "said" \([0-9a-f-]{36}\) written, version \d+, in [\d.]+ s \(\d+ rows\/s\)\.\n$/,
    );
  });
});

describe('the table of an import', () => {
  test('rows are added to the table of that name or ID, or replace its rows', async () => {
    const [one, two] = [await fileOf('one.csv', ['n', '1']), await fileOf('two.csv', ['n', '2'])];
    const made = await imported(one, '--table', 'which');
    expect(made).toMatchObject({ name: 'which', action: 'created', rows: 1 });
    const added = await imported(two, '--table', 'which');
    expect(added).toMatchObject({ tableID: made.tableID, action: 'added' });
    expect((await client().head(`/tables/${made.tableID}/rows`)).version).toBe(BigInt(added.version));
    expect((await client().rows(made.tableID)).map(({ n }) => n)).toEqual([1, 2]);
    await imported(two, '--table', made.tableID.toUpperCase(), '--overwrite');
    expect((await client().rows(made.tableID)).map(({ n }) => n)).toEqual([2]);
  });

  test('rows are upserted by the key, which the command declares or checks', async () => {
    const [first, second] = [
      await fileOf('first.csv', ['email,age', ...numbers(300).map((n) => `${n},1`)]),
      await fileOf('second.csv', ['email,age', ...numbers(400).map((n) => `${n},${n < 200 ? 1 : ''}`)]),
    ];
    expect((await tablog(['import', first, '--table', 'keyed', '--upsert'])).stderr).toMatch(
      /There is no table "keyed"/,
    );
    const { tableID } = await imported(first, '--table', 'keyed');
    const upsert = (file: string, ...flags: string[]): Promise<TablogResult> =>
      tablog(['import', file, '--table', 'keyed', '--upsert', ...flags]);
    expect((await upsert(second)).stderr).toMatch(/has no key/);
    const done = await upsert(second, '--key', 'email');
    expect([done.code, withoutProgress(done.stderr)]).toEqual([0, 'The key of the table is now email.\n']);
    expect(done.stdout).toMatch(
      /^400 rows upserted into the table "keyed" .*: 100 added, 100 patched, 200 unchanged, /,
    );
    const rows = cellsOf(await client().rows(tableID));
    expect(rows).toEqual(numbers(400).map((n) => (n < 200 ? { email: n, age: 1 } : { email: n })));
    expect(JSON.parse((await upsert(second, '--json')).stdout)).toMatchObject({ action: 'upserted', unchanged: 400 });
    expect((await upsert(second, '--key', 'age')).stderr).toMatch(/The key of the table "keyed" is email, not age/);
    const wrong = await fileOf('wrong.csv', ['email,age', ...numbers(300).map((n) => `${n},2`), '7,x']);
    expect((await upsert(wrong)).stderr).toMatch(/wrong\.csv, line 302 \(row 301\): /);
    expect((await client().rows(tableID))[0]).toMatchObject({ email: 0, age: 2 });
    expect((await tablog(['import', first, '--table', 'keyed', '--key', 'email'])).stderr).toMatch(
      /--key is for --upsert/,
    );
  });

  test('a name of several tables is refused, and one that looks like an unknown ID', async () => {
    const one = await fileOf('one.csv', ['n', '1']);
    const ids = [
      (await imported(one, '--table', 'twin')).tableID,
      (await imported(one, '--table', 'twin', '--create')).tableID,
    ];
    for (const args of [
      ['import', one, '--table', 'twin'],
      ['export', 'twin'],
    ]) {
      expect(await tablog(args)).toEqual({
        code: 1,
        stdout: '',
        stderr: `2 tables are named "twin"; give the ID of one: ${ids.join(', ')}\n`,
      });
    }
    const unknown = '01890000-0000-7000-8000-000000000000';
    expect(await tablog(['import', one, '--table', unknown])).toMatchObject({
      code: 1,
      stderr: `There is no table with the ID ${unknown}.\n`,
    });
    expect(await tablog(['export', 'nobody'])).toMatchObject({ code: 1, stderr: 'There is no table "nobody".\n' });
  });

  test('an import with --if-match takes effect only if the table has not changed', async () => {
    const one = await fileOf('one.csv', ['n', '1']);
    const { version } = await imported(one, '--table', 'matched');
    await imported(one, '--table', 'matched', '--if-match', version);
    for (const mode of [[], ['--overwrite']]) {
      const refused = await tablog(['import', one, '--table', 'matched', '--if-match', `"${version}"`, ...mode]);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/^The stash import-\S+ has been deleted\.\nprecondition_failed: /);
      expect(await stateOfStash()).toMatch(/was deleted$/);
      relay().reset();
    }
    expect(await tablog(['import', one, '--table', 'matched', '--if-match', 'x'])).toMatchObject({ code: 1 });
  });

  test('--on-schema-error updateSchema adds columns', async () => {
    await imported(await fileOf('one.csv', ['n', '1']), '--table', 'wider');
    const more = await fileOf('more.csv', ['n,m', 'x,2']);
    expect((await tablog(['import', more, '--table', 'wider'])).code).toBe(1);
    const { tableID } = await imported(more, '--table', 'wider', '--on-schema-error', 'updateSchema');
    expect(cellsOf(await client().rows(tableID))).toEqual([{ n: '1' }, { n: 'x', m: 2 }]);
  });

  test('--on-schema-error dropColumns drops cells, and counts them', async () => {
    await imported(await fileOf('one.csv', ['n', '1']), '--table', 'kept');
    const more = await fileOf('more.ndjson', ['{"n":"x","m":1}', '{"n":2,"m":"y"}']);
    const { tableID, droppedCells } = await imported(more, '--table', 'kept', '--on-schema-error', 'dropColumns');
    expect([droppedCells, cellsOf(await client().rows(tableID))]).toEqual([3, [{ n: 1 }, {}, { n: 2 }]]);
    expect(await output('import', more, '--table', 'kept', '--on-schema-error', 'dropColumns')).toMatch(
      /^2 rows added to the table "kept" .*, 3 cells dropped, version/,
    );
  });

  test('an overwrite from an export with row IDs keeps the IDs of all rows', async () => {
    const { tableID } = await imported(
      await fileOf('people.csv', ['name,age', 'Ada,36', '"Grace, H.",85', 'Alan,41']),
      '--table',
      'people',
    );
    const before = await client().rows(tableID);
    const file = join(folder(), 'people.out.csv');
    await output('export', 'people', '--row-ids', '--output', file);
    const [header, ada, grace] = (await readContent(file)).split('\n');
    expect([header, ada]).toEqual(['$rowID,name,age', `${String(before[0]!['$rowID'])},Ada,36`]);
    const edited = await fileOf('people.new.csv', [header!, grace!.replace('85', '86'), ',Barbara,28', ada!]);
    await imported(edited, '--table', 'people', '--overwrite');
    const after = await client().rows(tableID);
    expect(cellsOf(after)).toEqual([
      { name: 'Grace, H.', age: 86 },
      { name: 'Barbara', age: 28 },
      { name: 'Ada', age: 36 },
    ]);
    expect([after[0], after[2]].map((row) => row!['$rowID'])).toEqual(
      [before[1], before[0]].map((row) => row!['$rowID']),
    );
  });
});

describe('stdin and stdout', () => {
  test('the name - means stdin, which needs --format', async () => {
    const rows = numbers(2_500).map((n) => `{"n":${n}}`);
    const piped = await tablog(
      ['import', '-', '--format', 'ndjson', '--table', 'piped', '--json'],
      Readable.from([rows.join('\n')]),
    );
    expect(JSON.parse(piped.stdout)).toMatchObject({ rows: 2_500 });
    expect((await client().rows(JSON.parse(piped.stdout).tableID)).map(({ n }) => n)).toEqual(numbers(2_500));
    expect(await tablog(['import', '-', '--table', 'piped'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'stdin has no file name: give --format csv, tsv, json, ndjson, or xlsx.\n',
    });
  });

  test('a reader of stdout may stop early', async () => {
    const source = await writeContent(join(folder(), 'much.csv'), await readDataSet('zipcodes.csv'));
    await imported(source, '--table', 'much');
    const running = tablog(['export', 'much']);
    running.child.stdout!.once('data', () => running.child.stdout!.destroy());
    // The bytes that were read are lost with the stream.
    const [{ code, stderr }] = await Promise.all([running.catch(() => untilClosed(running)), untilClosed(running)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('a file that cannot be written is named, with the folder that is the reason', async () => {
    await imported(await fileOf('here.csv', ['n', '1']), '--table', 'here');
    const [missing, file] = [join(folder(), 'missing'), join(folder(), 'here.csv')];
    for (const [output, problem] of [
      [join(missing, 'x.csv'), `there is no folder ${missing}`],
      [join(file, 'x.csv'), `${file} is not a folder`],
      [join(folder(), `${'x'.repeat(300)}.csv`), 'name too long'],
    ] as const) {
      const result = await tablog(['export', 'here', '--output', output]);
      expect(result).toEqual({ code: 1, stdout: '', stderr: `${output} cannot be written: ${problem}\n` });
    }
  });

  test('a file that cannot be written completely is not made', async () => {
    await imported(await fileOf('one.csv', ['n', '1']), '--table', 'gone');
    const into = join(folder(), 'into');
    await mkdir(into);
    await writeFile(join(into, 'old.csv'), 'old');
    relay().faultFor = (_method, path) => (path.includes('/rows') ? 'hold' : 'pass');
    for (const file of ['new.csv', 'old.csv']) {
      const running = tablog(['export', 'gone', '--output', join(into, file)]);
      await sleepUntil(
        async () => (await readdir(into)).some((name) => name.endsWith('.part')),
        'the export has begun',
      );
      running.child.kill('SIGINT');
      expect(await running).toEqual({ code: 1, stdout: '', stderr: 'Interrupted.\n' });
    }
    expect(await readdir(into)).toEqual(['old.csv']);
    expect(await readContent(join(into, 'old.csv'))).toBe('old');
  });
});

/** How a command ends if nobody reads its output. */
function untilClosed({ child }: RunningTablog): Promise<TablogResult> {
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, stdout: '', stderr: '' }));
  });
}

describe('settings', () => {
  test('the command names all missing settings at once', async () => {
    const home = join(folder(), 'empty');
    const refused = await runTablog(['export', 'x'], { TABLOG_URL: '', TABLOG_TOKEN: '', XDG_CONFIG_HOME: home });
    const file = join(home, 'tablog', 'config.json');
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        `No server is set: give --url, set TABLOG_URL, or put "url" into ${file}.`,
        `No token is set: give --token, set TABLOG_TOKEN, or put "token" into ${file}.`,
        '',
      ].join('\n'),
    });
    await expect(access(file)).rejects.toThrow();
  });

  test('the command names a server that it cannot reach, and a token that is not valid', async () => {
    const port = await freePort();
    expect(await tablog(['export', 'x', '--url', `http://127.0.0.1:${port}`])).toEqual({
      code: 1,
      stdout: '',
      stderr: `The server at http://127.0.0.1:${port} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}\n`,
    });
    const unknown = await tablog(['export', 'x', '--token', 'nobody']);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(/^request_error: /);
  });

  test('a file has the settings, and the command warns if others can read it', async () => {
    await mkdir(join(folder(), 'tablog'));
    const file = join(folder(), 'tablog', 'config.json');
    await writeFile(file, JSON.stringify({ url: relay().url, token: client().token }), { mode: 0o644 });
    const source = await fileOf('one.csv', ['n', '1']);
    const made = await runTablog(['import', source, '--table', 'by file'], {
      TABLOG_URL: '',
      TABLOG_TOKEN: '',
      XDG_CONFIG_HOME: folder(),
    });
    await rm(file);
    expect(made).toMatchObject({
      code: 0,
      stderr: `Other users can read ${file}, which contains a token: chmod 600 ${file}\n`,
    });
  });
});
