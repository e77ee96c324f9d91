import { describe, expect, test } from '@jest/globals';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { DelimitedRowReader } from '../../../../src/language/formats/delimited-row-reader.ts';
import type { DelimitedRowReaderOptions } from '../../../../src/language/formats/delimited-row-reader.ts';
import { storedAs } from '../../../../src/language/values/profile.ts';
import { readCells } from './read-cells.ts';
import { bodiesOf, refusalOf, type RowsRead } from './read-rows.ts';

const rowsOf = (text: string, options: Partial<DelimitedRowReaderOptions> = {}): string[] =>
  bodiesOf(readCells([text], options));

describe('row bodies', () => {
  test.each<[string, string, string[]]>([
    ['texts', 'a,b\nx,y\n', ['{"a":"x","b":"y"}']],
    ['no line end at the end', 'a,b\nx,y', ['{"a":"x","b":"y"}']],
    ['carriage returns', 'a,b\r\nx,y\r\nz,\r\n', ['{"a":"x","b":"y"}', '{"a":"z"}']],
    [
      'line ends of both kinds',
      'a,b\r\nx,y\nz,"w"\r\n"q","r"\ns,t',
      ['{"a":"x","b":"y"}', '{"a":"z","b":"w"}', '{"a":"q","b":"r"}', '{"a":"s","b":"t"}'],
    ],
    ['a byte order mark', '\ufeffa\nx\n', ['{"a":"x"}']],
    ['a byte order mark before a quote', '\ufeff"a"\nx\n', ['{"a":"x"}']],
    ['one that stands elsewhere is text', 'a\n\ufeffx\n', ['{"a":"\ufeffx"}']],
    ['blank lines', '\n\na,b\n\r\n\nx,y\n\n\r\nz,w\n\n', ['{"a":"x","b":"y"}', '{"a":"z","b":"w"}']],
    ['a line of blanks is a cell', 'a\n  \n', ['{"a":"  "}']],
    ['blanks belong to their cells', ' a,b \n x , y\n', ['{" a":" x ","b ":" y"}']],
    ['shorter lines', 'a,b,c\nx\nx,y\n,y\n', ['{"a":"x"}', '{"a":"x","b":"y"}', '{"b":"y"}']],
    ['empty cells', 'a,b\n,\n"",""\n"",x\n', ['{}', '{}', '{"b":"x"}']],
    ['a quoted empty cell alone', 'a\n""\nx\n', ['{}', '{"a":"x"}']],
    ['quotes', 'a,"b,""c"""\n"x,y","""z"""\n', ['{"a":"x,y","b,\\"c\\"":"\\"z\\""}']],
    ['line breaks in quotes', 'a,b\n"1\n\n2","\r\n"\nx,y\n', ['{"a":"1\\n\\n2","b":"\\r\\n"}', '{"a":"x","b":"y"}']],
    ['a carriage return at the end of quotes', 'a\n"x\r"\r\n', ['{"a":"x\\r"}']],
    ['a line break in the header', '"a\nb"\nx\n', ['{"a\\nb":"x"}']],
    ['escapes', 'a\n\\\n\u0001\t\u007f\u2028\n', ['{"a":"\\\\"}', '{"a":"\\u0001\\t\u007f\u2028"}']],
    [
      'long texts with and without',
      `a\n${'x'.repeat(5000)}\n${'é\\'.repeat(50)}\n`,
      [`{"a":"${'x'.repeat(5000)}"}`, `{"a":"${'é\\\\'.repeat(50)}"}`],
    ],
    ['$rowID is no column', 'a,$rowID,b\n1,x,2\n,x\n', ['{"a":1,"b":2}', '{}']],
    [
      'IDs that objects treat in their own way',
      '10,__proto__,constructor,9\na,b,c,d\n',
      ['{"10":"a","__proto__":"b","constructor":"c","9":"d"}'],
    ],
    ['semicolons and tabs are text', 'a;b,c\n1;2,"x\ty"\n', ['{"a;b":"1;2","c":"x\\ty"}']],
  ])('CSV becomes row bodies: %s', (_name, text, expected) => expect(rowsOf(text)).toEqual(expected));

  test.each<[string, string, string[]]>([
    ['tabs', 'a\tb\nx, y\t"z\t""w"""\n', ['{"a":"x, y","b":"z\\t\\"w\\""}']],
    ['carriage returns', 'a\tb\r\nx\t\r\n\ty\r\n', ['{"a":"x"}', '{"b":"y"}']],
    ['lines of nothing but tabs', 'a\tb\tc\n\t\t\n\t\n', ['{}', '{}']],
    ['blanks behind a tab', 'a\tb\n"x"\t \n \t"y"\n', ['{"a":"x","b":" "}', '{"a":" ","b":"y"}']],
    ['a carriage return between quoted cells', 'a\tb\r\n"x"\t"y"\r\n"z"\r\n', ['{"a":"x","b":"y"}', '{"a":"z"}']],
  ])('TSV becomes row bodies: %s', (_name, text, expected) =>
    expect(rowsOf(text, { delimiter: '\t' })).toEqual(expected),
  );

  test.each<[string, string, DelimitedForm, string[]]>([
    ['no header', 'x,,y\nz\n', { header: 'absent' }, ['{"column_1":"x","column_3":"y"}', '{"column_1":"z"}']],
    [
      'no header, and other names',
      'x,y\n',
      { header: 'absent', columns: { column_2: 'b' } },
      ['{"column_1":"x","b":"y"}'],
    ],
    [
      'other names',
      'Full name,age\nx,y\n',
      { columns: { 'Full name': 'name', 'missing': 'z' } },
      ['{"name":"x","age":"y"}'],
    ],
    ['names that are swapped', 'a,b\nx,y\n', { columns: { a: 'b', b: 'a' } }, ['{"b":"x","a":"y"}']],
    ['a name for row IDs', 'id,a\nx,y\n', { columns: { id: '$rowID' } }, ['{"a":"y"}']],
    [
      'a name that occurs twice',
      'a,a,a_2,a\nw,x,y,z\n',
      { duplicateColumns: 'rename' },
      ['{"a":"w","a_3":"x","a_2":"y","a_4":"z"}'],
    ],
    ['a quote between the cells', 'a,b\nc,d\n', { quote: 'none', delimiter: '"' }, ['{"a,b":"c,d"}']],
    [
      'names that are missing twice',
      ',,a\nx,y,z\n',
      { duplicateColumns: 'rename' },
      ['{"column_1":"x","column_2":"y","a":"z"}'],
    ],
  ])('with a form that was named: %s', (_name, text, form, expected) =>
    expect(rowsOf(text, { form })).toEqual(expected),
  );

  test.each<[string, DelimitedForm]>([
    ['that are one, and renamed', { duplicateColumns: 'rename' }],
    ['that are one', {}],
  ])('a header of half a million names %s takes little time, and its rows are read', (_name, form) => {
    const reader = new DelimitedRowReader({ delimiter: ',', form });
    const text = `${'a,'.repeat(262_000)}a\n${'1,'.repeat(262_000)}1\n`;
    for (let start = 0; start < text.length; start += 65_536)
      for (const _block of reader.push(Buffer.from(text.slice(start, start + 65_536))))
        throw new Error('a block of refused rows');
    const { isWhole, blocks } = reader.end();
    expect([isWhole, blocks, reader.refusal?.type]).toEqual([
      true,
      [],
      form.duplicateColumns === 'rename' ? 'limit_exceeded' : 'column_id_not_unique',
    ]);
  });

  test.each<[string, string[], string[]]>([
    ['numbers', ['1', '', '-2.50', '1e3'], ['1', '-2.50', '1e3']],
    ['booleans', ['true', 'false', ''], ['true', 'false']],
    ['numbers with a blank', ['1', ' 2'], ['"1"', '" 2"']],
    ['a code', ['1', '007'], ['"1"', '"007"']],
    ['a long code', ['1', '1234567890123456'], ['"1"', '"1234567890123456"']],
    ['too large a number', ['1', '1e400'], ['"1"', '"1e400"']],
    ['a capital', ['true', 'FALSE'], ['"true"', '"FALSE"']],
    ['numbers and booleans', ['1', 'true'], ['"1"', '"true"']],
    ['something else, last', ['1', '2', 'x'], ['"1"', '"2"', '"x"']],
    ['something else, first', ['x', '1', '2'], ['"x"', '"1"', '"2"']],
    ['JSON', ['[1]', '{}'], ['"[1]"', '"{}"']],
  ])('a column of %s', (_name, cells, tokens) => {
    const bodies = rowsOf(`c,d\n${cells.map((cell) => `${cell},.\n`).join('')}`);
    expect(bodies).toEqual(
      cells.flatMap((cell) => (cell === '' ? ['{"d":"."}'] : [`{"c":${tokens.shift()},"d":"."}`])),
    );
  });

  test('each block stores its columns in its own way', () => {
    const { blocks } = readCells(['a,b\n1,2\n3,x\n4,5\n6,7\n'], { limits: { blockRows: 2 } });
    expect(bodiesOf({ blocks })).toEqual(['{"a":1,"b":"2"}', '{"a":3,"b":"x"}', '{"a":4,"b":5}', '{"a":6,"b":7}']);
    expect(blocks.map(({ profile }) => profile.columns.map(({ stored }) => stored & ~storedAs.cell))).toEqual([
      [storedAs.number, storedAs.string],
      [storedAs.number, storedAs.number],
    ]);
  });

  test('hold the known columns first', () => {
    const { blocks } = readCells(['x,b,$rowID,a\n1,2,i,3\n4,,,5\n6,7\n8\n'], { columns: ['a', 'b', 'c'] });
    expect(bodiesOf({ blocks })).toEqual(['{"a":3,"b":2,"x":1}', '{"a":5,"x":4}', '{"b":7,"x":6}', '{"x":8}']);
    expect(blocks[0]!.profile.columns.map(({ id, first }) => [id, first.row, first.position])).toEqual([
      ['a', 0, 3],
      ['b', 0, 1],
      ['x', 0, 0],
    ]);
  });
});

describe('profiles', () => {
  test('count rows and bytes, and name the first misfits', () => {
    const [block] = readCells(['a,b\n1,été\n,\n[],x\n']).blocks;
    expect(block!.profile).toMatchObject({
      rows: 3,
      bytes: 21 + 2 + 18,
      rowBytesMax: 21,
      columns: [
        { id: 'a', first: { row: 0, position: 0 }, natural: 'string', stored: storedAs.string | storedAs.cell },
        { id: 'b', first: { row: 0, position: 1 }, natural: 'string', stored: storedAs.string | storedAs.cell },
      ],
    });
    expect(block!.profile.columns[0]!.misfits.at(-1)).toMatchObject({ row: 2, position: 0, value: '"[]"' });
  });

  test('have the columns of the header in the first block, and later only those with values', () => {
    const { blocks } = readCells(['a,b,c\nx\ny\n,z\n'], { limits: { blockRows: 1 } });
    expect(blocks.map(({ profile }) => profile.columns.map(({ id, stored }) => [id, stored]))).toEqual([
      [
        ['a', 513],
        ['b', 512],
        ['c', 512],
      ],
      [['a', 513]],
      [['b', 513]],
    ]);
  });

  test('exist even without rows', () => {
    const { blocks, envelope, hasRows } = readCells(['a,$rowID,b\n']);
    expect({ envelope, hasRows }).toEqual({ envelope: null, hasRows: true });
    expect(
      blocks.map(({ profile, body, ids }) => [
        profile.rows,
        profile.bytes,
        profile.columns.map(({ id }) => id),
        body.length,
        ids,
      ]),
    ).toEqual([[0, 0, ['a', 'b'], 0, null]]);
    expect(readCells(['$rowID\n']).blocks).toEqual([]);
  });
});

describe('blocks', () => {
  const sizes = (text: string, limits: DelimitedRowReaderOptions['limits']): number[] =>
    readCells([text], { limits: limits! }).blocks.map(({ profile }) => profile.rows);

  test('end at a number of rows', () => expect(sizes('a\n1\n2\n3\n4\n5\n', { blockRows: 2 })).toEqual([2, 2, 1]));

  test('end before they exceed a number of bytes', () => {
    const text = `a\n${'\\\u0001"é,x\n'.replaceAll(/(.*)\n/g, (_, cell: string) => `"${cell.replaceAll('"', '""')}"\n`).repeat(40)}`;
    const { blocks } = readCells([text], { limits: { blockBytes: 100 } });
    expect(blocks.length).toBeGreaterThan(5);
    for (const { body } of blocks) expect(body.length).toBeLessThanOrEqual(100);
    expect(bodiesOf({ blocks })).toEqual(Array.from({ length: 40 }, () => '{"a":"\\\\\\u0001\\"é,x"}'));
  });

  test('come as soon as they are full', () => {
    const reader = new DelimitedRowReader({ delimiter: ',', limits: { blockRows: 2 } });
    expect([...reader.push(Buffer.from('a\n1\n2\n3'))]).toEqual([]);
    expect([...reader.push(Buffer.from('\n'))]).toHaveLength(1);
    expect(reader.end().blocks).toHaveLength(1);
  });
});

test('row IDs are read from their column, and are no cells', () => {
  const ids = ['AAAAAAAAAAEAAAACAAAAAw', '', 'x', 'AAAAAAAAAAAAAAAAAAAAAA', '1'];
  const text = `a,$rowID\n${ids.map((id) => `1,${id}\n`).join('')}2\n`;
  const [block] = readCells([text], { retainIds: true }).blocks;
  const hex = Buffer.from(block!.ids!).toString('hex');
  expect(hex.match(/.{32}/g)).toEqual([
    '00000000000000010000000200000003',
    '0'.repeat(32),
    'f'.repeat(32),
    'f'.repeat(32),
    'f'.repeat(32),
    '0'.repeat(32),
  ]);
  expect(readCells([text]).blocks[0]!.ids).toBeNull();
  expect(readCells(['a,$rowID\n1,\n2\n'], { retainIds: true }).blocks[0]!.ids).toBeNull();
  expect(readCells(['a\n1\n'], { retainIds: true }).blocks[0]!.ids).toBeNull();
  const blocks = readCells([text], { retainIds: true, limits: { blockRows: 4 } }).blocks;
  expect(blocks.map((one) => one.ids?.length)).toEqual([64, 32]);
});

test.each<[string, string, string[], string[], number]>([
  ['first, as pandas writes its index', ',a\n0,x\n', ['{"column_1":0,"a":"x"}'], ['column_1: had no name'], 0],
  ['first and quoted, as R writes it', '"","a"\n"r1",1\n', ['{"column_1":"r1","a":1}'], ['column_1: had no name'], 0],
  [
    'of which some have values',
    ',a,,\n1,2,,4\n',
    ['{"column_1":1,"a":2,"column_4":4}'],
    ['column_1: had no name', 'column_3: had no name and no values, and was left out', 'column_4: had no name'],
    0,
  ],
  [
    'whose name another column has',
    'column_2,,column_2_2\n1,2,3\n',
    ['{"column_2":1,"column_2_3":2,"column_2_2":3}'],
    ['column_2_3: had no name'],
    0,
  ],
  [
    'last without values, and lines without the last delimiter',
    'a,b,\n1,2,\n3,4\n5\n',
    ['{"a":1,"b":2}', '{"a":3,"b":4}', '{"a":5}'],
    ['column_3: had no name and no values, and was left out'],
    1,
  ],
  [
    'and nothing else',
    ',\n,x\n',
    ['{"column_2":"x"}'],
    ['column_1: had no name and no values, and was left out', 'column_2: had no name'],
    0,
  ],
  ['between others without a value', 'a,,b\n1,,2\n', ['{"a":1,"b":2}'], ['column_2: had no name'], 0],
  [
    'more than can be noted',
    `${','.repeat(12)}a\n`,
    [],
    Array.from({ length: 10 }, (_, at) => `column_${at + 1}: had no name`),
    0,
  ],
])('a column without a name: %s', (_name, text, rows, notes, shortLines) => {
  const read = readCells([text], { limits: { blockRows: 1 } });
  expect(bodiesOf(read).filter((body) => body !== '')).toEqual(rows);
  expect(read.remarks).toEqual({ shortLines, notes });
});

test('a body has the columns with a name, and those with a value, in the order of the header', () => {
  const {
    blocks: [block],
  } = readCells([',b,,\n,1,,2\n']);
  expect(block!.profile.columns.map(({ id }) => id)).toEqual(['column_1', 'b', 'column_4']);
});

test.each<[text: string, form: DelimitedForm, bodies: string[]]>([
  ['a,b\nNA,NULL\n', { null: ['NA', 'NULL'] }, ['{}']],
  ['a,b\n"NA",NA\n', { null: ['NA'] }, ['{"a":"NA"}']],
  ['a,b\nNA,"NA"\n', { null: ['NA'] }, ['{"b":"NA"}']],
  ['a,b,c\n"x,NA","N""A",NA\n', { null: ['NA', 'N"A'] }, ['{"a":"x,NA","b":"N\\"A"}']],
  ['a,b\nna, NA\n', { null: ['NA'] }, ['{"a":"na","b":" NA"}']],
  ['NA\nNA\n1\n', { null: ['NA'] }, ['{}', '{"NA":1}']],
  ['$rowID,a\nNA,-\n', { null: ['NA', '-'] }, ['{}']],
  ['a\n.5\n"1.234,5"\n', { decimal: ',' }, ['{"a":".5"}', '{"a":"1.234,5"}']],
  ['a\n1\n1.5\n', { decimal: ',' }, ['{"a":"1"}', '{"a":"1.5"}']],
  ['a\n1\n1e5\n', { decimal: ',' }, ['{"a":1}', '{"a":1e5}']],
])('%j of the form %j has the bodies %j', (text, form, bodies) => expect(rowsOf(text, { form })).toEqual(bodies));

test.each<[text: string, types: NonNullable<DelimitedForm['types']>, columns: unknown]>([
  [
    'zip,n\n1,2\n',
    { zip: 'string' },
    [
      ['zip', 'string', true],
      ['n', 'number', false],
    ],
  ],
  ['zip\n', { zip: 'date' }, [['zip', 'date', true]]],
  ['zip\nx\n', { zip: 'number' }, [['zip', 'number', true]]],
  ['zip\n1\n', { other: 'string', __proto__: 'string' as never }, [['zip', 'number', false]]],
])('%j whose columns have the types %j is profiled by them', (text, types, columns) => {
  const { blocks } = readCells([text], { form: { types } });
  expect(
    blocks[0]!.profile.columns.map(({ id, natural, stored }) => [id, natural, (stored & storedAs.givenType) !== 0]),
  ).toEqual(columns);
});

describe('refused', () => {
  test.each<[string, string]>([
    ['', 'the body has no header: its first line must name the columns'],
    ['\ufeff', 'the body has no header: its first line must name the columns'],
    ['\n\r\n\n', 'the body has no header: its first line must name the columns'],
    [`a,${'é'.repeat(129)}\n`, 'header[1]: a column ID must not be longer than 256 bytes'],
    ['a,x"y\n', 'header[1]: "x\\"" has a quote in it, but does not begin with one'],
    ['a,"x\n', 'header[1]: "\\"x" begins with a quote that is never closed'],
    ['a\0\n', 'header[0]: "a\\u0000" has U+0000 in it, which cannot be stored'],
    ['a,b\n1,2\n1,2,3\n', 'rows[1]: the line has 3 cells, the header 2'],
    ['a,b\n1,2,\n', 'rows[0]: the line has 3 cells, the header 2'],
    ['a,b\n1,"2', 'rows[0].b: "\\"2" begins with a quote that is never closed'],
    ['a,b\n1,"2\n3,4\n', 'rows[0].b: "\\"2\\n3,4" begins with a quote that is never closed'],
    ['a,b\n1,"2""', 'rows[0].b: "\\"2\\"\\"" begins with a quote that is never closed'],
    ['a,b\nx"y,1\n', 'rows[0].a: "x\\"" has a quote in it, but does not begin with one'],
    ['a,b\nx"y"z\n', 'rows[0].a: "x\\"" has a quote in it, but does not begin with one'],
    ['a,b\n1,2\n"x"y,1\n', 'rows[1].a: "\\"x\\"y" has something behind its closing quote'],
    ['a,b\n"x"y",1\n', 'rows[0].a: "\\"x\\"y" has something behind its closing quote'],
    ['a,b\n1,x\0y\n', 'rows[0].b: "x\\u0000" has U+0000 in it, which cannot be stored'],
    ['a,b\n1,"x\0y"\n', 'rows[0].b: "\\"x\\u0000" has U+0000 in it, which cannot be stored'],
    ['a,b\n1,"x"\0\n', 'rows[0].b: "\\"x\\"\\u0000" has something behind its closing quote'],
    ['a,my age\n1,2\n\n1,x"\n', 'rows[1]["my age"]: "x\\"" has a quote in it, but does not begin with one'],
    ['a,b\n"x" y,1\n', 'rows[0].a: "\\"x\\" y" has something behind its closing quote'],
    [
      `a,b\n${' '.repeat(1_001)}"x",1\n`,
      `rows[0].a: "${' '.repeat(58)}… has a quote in it, but does not begin with one`,
    ],
    ['a,b\n1,x "y"\n', 'rows[0].b: "x \\"" has a quote in it, but does not begin with one'],
    ['a,b\r1,2\r1,2,3\r', 'rows[1]: the line has 3 cells, the header 2'],
    ['sep=;\na,b\nx"\n', 'rows[0]["a,b"]: "x\\"" has a quote in it, but does not begin with one'],
    ['sep="\n', 'header[0]: "sep=\\"" has a quote in it, but does not begin with one'],
    ['\u001a', 'the body has no header: its first line must name the columns'],
    ['sep=;\n', 'the body has no header: its first line must name the columns'],
    ['a,b\n1,2,x"\n', 'rows[0]: "x\\"" has a quote in it, but does not begin with one'],
    [`a\n"${'x'.repeat(80)}"y\n`, `rows[0].a: "\\"${'x'.repeat(56)}… has something behind its closing quote`],
  ])('the body %j is refused', (text, message) => {
    expect(refusalOf(() => readCells([text]))).toEqual({ type: 'request_validation_error', message });
  });

  test.each([
    ['a,b,a\n', 'header[2]: the column ID "a" occurs twice'],
    ['__proto__,"__proto__"\n', 'header[1]: the column ID "__proto__" occurs twice'],
    ['$rowID,a,$rowID\n1,2,3\n', 'header[2]: the column ID "$rowID" occurs twice'],
  ])('a column that is named twice: %j', (text, message) => {
    expect(refusalOf(() => readCells([text]))).toEqual({ type: 'column_id_not_unique', message });
  });

  test.each<[string, string, RegExp]>([
    [
      'of two names the first, before a long cell',
      `a,$stashID,a\n${'x'.repeat(300_000)}\n`,
      /^column_id_reserved: header\[1\]: the column ID "\$stashID" is reserved$/,
    ],
    [
      'but behind a malformed name',
      `$stashID,${'é'.repeat(129)},a\n`,
      /^request_validation_error: header\[1\]: a column ID must not be longer than 256 bytes$/,
    ],
    [
      'but behind a malformed line',
      'a,$stashID,b\n1,2,3\n1,2,3,4\n',
      /^request_validation_error: rows\[1\]: the line has 4 cells, the header 3$/,
    ],
    ['but behind a malformed cell', 'a,a\n1,x"\n', /^request_validation_error: rows\[0\].a: "x\\"" has a quote in it/],
  ])('a header that no table takes: %s', (_name, text, refusal) => {
    const { type, message } = refusalOf(() => readCells([text]))!;
    expect(`${type}: ${message}`).toMatch(refusal);
  });

  test('rows under a header that no table accepts are checked, and not kept', () => {
    expect(readCells(['a,a\n1,2\n3,4\n'])).toMatchObject({ blocks: [], isWhole: true });
  });

  test.each<[string, string, boolean, number]>([
    ['a long cell, whose body is whole', `a\n${'x'.repeat(300_000)}\n2\n`, true, 2],
    ['a long row, behind which nothing is read', `a\n1\n${'x'.repeat(600_000)}\n2\n3,4\n`, false, 0],
  ])('the body is refused for %s', (_name, text, isWhole, rows) => {
    const read = readCells([text]);
    expect([read.isWhole, read.blocks.reduce((sum, { profile }) => sum + profile.rows, 0)]).toEqual([isWhole, rows]);
  });

  const cut = (...bytes: number[]): Buffer => Buffer.concat([Buffer.from('a,b\n1,x'), Buffer.from(bytes)]);

  test.each([
    ['a cut character at the end', cut(0xc3)],
    ['a cut character at the end of a line', cut(0xc3, 0x0a)],
    ['a surrogate as bytes', cut(0xed, 0xa0, 0x80, 0x0a)],
    ['an overlong form', cut(0xc0, 0x80, 0x0a)],
    ['in the header', Buffer.from([0x61, 0xff, 0x0a])],
    ['half a byte order mark', Buffer.from([0xef, 0xbb, 0x61, 0x0a])],
    ['Latin-1', Buffer.from('a\né\n', 'latin1')],
  ])('the text of a body is refused for %s', (_name, bytes) => {
    const refusal = { type: 'request_validation_error', message: 'the body is not valid UTF-8' };
    expect(refusalOf(() => readCells([bytes]))).toEqual(refusal);
    expect(refusalOf(() => readCells(Array.from(bytes, (byte) => Buffer.from([byte]))))).toEqual(refusal);
  });

  test.each([
    ['cell', `a,b\n1,2\n1,${'x'.repeat(262_145)}\n`, 'rows[1].b: a cell must not be longer than 262144 bytes'],
    [
      'cell of two bytes a character',
      `a,b\n1,${'é'.repeat(131_073)}\n`,
      'rows[0].b: a cell must not be longer than 262144 bytes',
    ],
    [
      'row',
      `a,b,c\n${'x'.repeat(200_000)},${'x'.repeat(200_000)},${'x'.repeat(124_287)}\n`,
      'rows[0]: a row must not be longer than 524288 bytes',
    ],
    ['row, once it is JSON', `a\n${'\u0001'.repeat(90_000)}\n`, 'rows[0]: a row must not be longer than 524288 bytes'],
    [
      'row, with its column IDs',
      `${Array.from({ length: 2_000 }, (_, at) => `${at + 1000}${'x'.repeat(252)}`).join()}\n12${',12'.repeat(1_999)}\n`,
      'rows[0]: a row must not be longer than 524288 bytes',
    ],
    [
      'header',
      `${Array.from({ length: 3_000 }, (_, at) => `${at}${'x'.repeat(200)}`).join()}\n`,
      'the header must not be longer than 524288 bytes',
    ],
    [
      'columns',
      `${Array.from({ length: 2_001 }, (_, column) => `k${column}`).join()}\n`,
      'header[2000]: more than 2000 columns',
    ],
  ])('a body beyond a limit is refused: %s', (_name, text, message) => {
    expect(refusalOf(() => readCells([text]))).toEqual({ type: 'limit_exceeded', message });
  });

  test.each([
    ['a\n', 'rows[0]: a row'],
    ['', 'the header'],
    ['a\n"', 'rows[0]: a row'],
    ['a\n"\n', 'rows[0]: a row'],
  ])(
    'an endless text after %j is refused as soon as it is too long, and needs no memory from then on',
    (start, what) => {
      const reader = new DelimitedRowReader({ delimiter: ',' });
      expect([...reader.push(Buffer.from(start))]).toEqual([]);
      const chunk = Buffer.alloc(65_536, 'x');
      for (let pushed = 0; pushed < 9; pushed += 1) expect([...reader.push(chunk)]).toEqual([]);
      expect(reader.refusal).toEqual({
        type: 'limit_exceeded',
        message: `${what} must not be longer than 524288 bytes`,
      });
      const before = process.memoryUsage().arrayBuffers;
      for (let pushed = 0; pushed < 1000; pushed += 1) expect([...reader.push(chunk)]).toEqual([]);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
      expect(reader.end()).toMatchObject({ blocks: [], isWhole: false });
    },
  );

  test('a body within the limits is accepted', () => {
    const cell = 'x'.repeat(262_144);
    expect(rowsOf(`a,b\n${cell},${'y'.repeat(262_100)}\n`)).toHaveLength(1);
    expect(rowsOf(`a,b\n"${'""'.repeat(131_000)}",${'é'.repeat(131_000)}\n`)).toHaveLength(1);
    expect(rowsOf(`${'é'.repeat(128)}\n1\n`)).toHaveLength(1);
  });
});

describe('where cells may be dropped', () => {
  const dropping = (text: string, options: Partial<DelimitedRowReaderOptions> = {}): RowsRead =>
    readCells([text], { dropsCells: true, ...options });
  const drop = (
    text: string,
    options: Partial<DelimitedRowReaderOptions> = {},
  ): { readonly bodies: string[]; readonly dropped: number } => {
    const read = dropping(text, options);
    return { bodies: bodiesOf(read), dropped: read.blocks.reduce((sum, { profile }) => sum + profile.dropped!, 0) };
  };
  const long = 'x'.repeat(262_145);

  test.each<[string, string, string[], number]>([
    ['nothing bad', 'a,b\n1,2\n', ['{"a":1,"b":2}'], 0],
    ['U+0000', 'a,b\nx\0,1\n"\0, y",2\nz,3\n', ['{"b":1}', '{"b":2}', '{"a":"z","b":3}'], 2],
    ['one that is too long', `a,b\n${long},1\n"${long}",2\n`, ['{"b":1}', '{"b":2}'], 2],
    ['one of the longest is not', `a\n${long.slice(1)}\n`, [`{"a":"${long.slice(1)}"}`], 0],
    ['what `$rowID` is', 'a,$rowID\n1,\0\n', ['{"a":1}'], 0],
  ])('cells are dropped: %s', (_name, text, bodies, dropped) => expect(drop(text)).toEqual({ bodies, dropped }));

  test.each([
    ['a,b\0\n1,2\n', 'header[1]: "b\\u0000" has U+0000 in it, which cannot be stored'],
    ['a,b\n\0,x"y\n', 'rows[0].b: "x\\"" has a quote in it, but does not begin with one'],
    ['a,b\n\0,1,2\n', 'rows[0]: the line has 3 cells, the header 2'],
  ])('%j is refused', (text, message) => {
    expect(refusalOf(() => dropping(text))).toEqual({ type: 'request_validation_error', message });
  });

  test('dropped cells do not count to the length of a row, however the body is cut', () => {
    const rest = 'y'.repeat(200_000);
    const quoted = `"${'é""\n,"",'.repeat(80_000)}"`;
    const bytes = Buffer.from(
      `a,b,c,d,e\n${rest},${'é😀'.repeat(100_000)},${rest},${quoted},${quoted}\np,q,r\n${quoted},"x""",${quoted},4\n`,
    );
    const { bodies, dropped } = drop(bytes.toString());
    expect([bodies, dropped]).toEqual([
      [`{"a":"${rest}","c":"${rest}"}`, '{"a":"p","b":"q","c":"r"}', '{"b":"x\\"","d":4}'],
      5,
    ]);
    for (const size of [70_000, 131_072, 300_001, ...Array.from({ length: 9 }, (_, at) => 65_530 + at)]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const read = readCells(chunks, { dropsCells: true });
      expect([bodiesOf(read), read.blocks.reduce((sum, { profile }) => sum + profile.dropped!, 0)]).toEqual([
        bodies,
        5,
      ]);
    }
  });

  test('a row of short cells may be too long', () => {
    const cell = 'y'.repeat(200_000);
    expect(refusalOf(() => dropping(`a,b,c\n${cell},${cell},${cell}\n`))).toEqual({
      type: 'limit_exceeded',
      message: 'rows[0]: a row must not be longer than 524288 bytes',
    });
  });

  test('an endless cell needs little memory', () => {
    const reader = new DelimitedRowReader({ delimiter: ',', dropsCells: true });
    expect([...reader.push(Buffer.from('a,b\n1,"'))]).toEqual([]);
    const chunk = Buffer.alloc(65_536, '""');
    const before = process.memoryUsage().arrayBuffers;
    for (let pushed = 0; pushed < 1000; pushed += 1) expect([...reader.push(chunk)]).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
    const [block] = [...reader.push(Buffer.from('"\n')), ...reader.end().blocks];
    expect([Buffer.from(block!.body).toString(), block!.profile.dropped]).toEqual(['{"a":1}', 1]);
  });
});
