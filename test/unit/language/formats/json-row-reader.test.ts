import { describe, expect, test } from '@jest/globals';

import { JsonRowReader } from '../../../../src/language/formats/json-row-reader.ts';
import type { JsonRowReaderOptions } from '../../../../src/language/formats/json-row-reader.ts';
import { bodiesOf, readRows, refusalOf, type RowsRead } from './read-rows.ts';

const rowsOf = (text: string, options: Partial<JsonRowReaderOptions> = {}): string[] =>
  bodiesOf(readRows([text], options));

describe('row bodies', () => {
  test.each([
    ['a clean row is copied', '[{"a": 1, "b": "x"}]', ['{"a": 1, "b": "x"}']],
    ['blanks between rows', ' [ {"a":1} ,\n\t{"a":2}\r\n] ', ['{"a":1}', '{"a":2}']],
    ['an empty row', '[{},{ }]', ['{}', '{ }']],
    ['a line break makes the row compact', '[{"a" : 1,\n"b" : "x y"}]', ['{"a":1,"b":"x y"}']],
    ['and what is in it', '[{"a": [1,\n {"b" : " \\" "}]}]', ['{"a":[1,{"b":" \\" "}]}']],
    ['a tab too', '[{"a":1}\t,{"a":\t2}]', ['{"a":1}', '{"a":2}']],
    ['nulls are left out', '[{"a":1,"b":null,"c":2},{"a":null}]', ['{"a":1,"c":2}', '{}']],
    ['but not within values', '[{"a":[null,{"b":null}]}]', ['{"a":[null,{"b":null}]}']],
    ['$rowID is left out', '[{"$rowID":"x","a":1},{"a":1,"$rowID":{"b":[]}}]', ['{"a":1}', '{"a":1}']],
    ['$stashID is a column', '[{"$stashID":"x"}]', ['{"$stashID":"x"}']],
    ['the order is that of first appearance', '[{"b":1,"a":2},{"a":3,"b":4}]', ['{"b":1,"a":2}', '{"b":4,"a":3}']],
    [
      'also for columns that come later',
      '[{"a":1},{"c":2,"a":3},{"b":4,"c":5,"a":6}]',
      ['{"a":1}', '{"a":3,"c":2}', '{"a":6,"c":5,"b":4}'],
    ],
    ['a key is what it says', '[{"a":1,"b":2},{"b":3,"\\u0061":4}]', ['{"a":1,"b":2}', '{"a":4,"b":3}']],
    [
      'numbers stay as written',
      '[{"a":1.50e+2,"b":-0,"c":12345678901234567890}]',
      ['{"a":1.50e+2,"b":-0,"c":12345678901234567890}'],
    ],
    [
      'strings stay as written',
      '[{"b":1},{"a":"\\u00e9\\/\\ud83d\\ude00","b":2}]',
      ['{"b":1}', '{"b":2,"a":"\\u00e9\\/\\ud83d\\ude00"}'],
    ],
    [
      'keys that objects treat in their own way',
      '[{"10":1,"__proto__":2,"constructor":3,"9":4}]',
      ['{"10":1,"__proto__":2,"constructor":3,"9":4}'],
    ],
    ['a byte order mark', '\ufeff[{"a":1}]', ['{"a":1}']],
    [
      'more or fewer blanks than in the row before',
      '[{"a":1, "b":2},{"a": 3,"b":   4},{"a":5,"b":\n6}]',
      ['{"a":1, "b":2}', '{"a": 3,"b":   4}', '{"a":5,"b":6}'],
    ],
  ])('JSON becomes row bodies: %s', (_name, text, expected) => {
    expect(rowsOf(text)).toEqual(expected);
  });

  test('hold the known columns first', () => {
    const { blocks } = readRows(['[{"x":1,"b":2,"a":3},{"y":5,"a":null}]'], { columns: ['a', 'b', 'c'] });
    expect(bodiesOf({ blocks })).toEqual(['{"a":3,"b":2,"x":1}', '{"y":5}']);
    expect(blocks[0]!.profile.columns.map(({ id, first }) => [id, first])).toEqual([
      ['a', { row: 0, position: 2 }],
      ['b', { row: 0, position: 1 }],
      ['x', { row: 0, position: 0 }],
      ['y', { row: 1, position: 0 }],
    ]);
  });

  test('the columns of a row with many columns are sorted', () => {
    const keys = Array.from({ length: 100 }, (_, index) => `k${index}`);
    const row = (names: readonly string[]): string => `{${names.map((key) => `"${key}":"${key}"`).join(',')}}`;
    expect(rowsOf(`[${row(keys)},${row(keys.toReversed())}]`)).toEqual([row(keys), row(keys)]);
  });

  test('may leave out any column', () => {
    const text = '[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7},{"a":1,"g":7},{"f":6},{"c":3,"e":5},{"b":2,"g":7}]';
    expect(rowsOf(text)).toEqual((JSON.parse(text) as unknown[]).map((row) => JSON.stringify(row)));
  });
});

describe('profiles', () => {
  test('count rows and bytes, and name the first misfits', () => {
    const [block] = readRows(['[{"$rowID":"x","a":1},{"a":null,"b":"été"}, {"a":12345678901234567890}]']).blocks;
    expect(block!.profile).toMatchObject({
      rows: 3,
      bytes: 7 + 13 + 26,
      rowBytesMax: 26,
      columns: [
        { id: 'a', first: { row: 0, position: 1 }, natural: 'string', stored: 2 + 1024 },
        { id: 'b', first: { row: 1, position: 1 }, natural: 'string', stored: 1 },
      ],
    });
    expect(block!.profile.columns[0]!.misfits.at(-1)).toMatchObject({
      row: 2,
      position: 0,
      value: '12345678901234567890',
    });
  });

  test('show an integer that no double holds, in a column of numbers and in arrays', () => {
    const text = '[{"a":1,"b":[1]},{"a":2,"b":[1]},{"a":9007199254740993,"b":[9007199254740993]}]';
    const [block] = readRows([text]).blocks;
    expect(block!.profile.columns.map(({ misfits }) => misfits.at(-1)!.row)).toEqual([2, 2]);
  });

  test('show that a column of strings has another value late', () => {
    const alike = Array.from({ length: 50 }, () => '{"d":"2024-02-29","n":1}');
    const [block] = readRows([`[${alike.join(',')},{"d":"soon","n":true},{"d":[1],"n":"x"}]`]).blocks;
    const [day, number] = block!.profile.columns;
    expect(day).toMatchObject({ natural: 'array<string>', stored: 1 + 32 });
    expect(day!.misfits.map(({ row }) => row)).toEqual([0, 50, 51]);
    expect(number).toMatchObject({ natural: 'string', stored: 1 + 2 + 4, misfits: [{ row: 0 }, { row: 50 }] });
  });
});

describe('blocks', () => {
  const sizes = (text: string, limits: JsonRowReaderOptions['limits']): number[] =>
    readRows([text], { limits: limits! }).blocks.map(({ profile }) => profile.rows);

  test('end at a number of rows', () => {
    expect(sizes('[{"a":1},{"a":2},{"a":3},{"a":4},{"a":5}]', { blockRows: 2 })).toEqual([2, 2, 1]);
  });

  test('end before they exceed a number of bytes, with the line feeds', () => {
    const text = '[{"a":1},{"a":2},{"a":3},{"a":4},{"a":5}]';
    expect(sizes(text, { blockBytes: 23 })).toEqual([3, 2]);
    expect(sizes(text, { blockBytes: 22 })).toEqual([2, 2, 1]);
    expect(sizes(text, { blockBytes: 15 })).toEqual([2, 2, 1]);
    expect(sizes(text, { blockBytes: 14 })).toEqual([1, 1, 1, 1, 1]);
  });

  test.each([
    [23, [3, 2]],
    [22, [2, 2, 1]],
  ])('blocks of %i bytes end at the same rows in small chunks', (blockBytes, expected) => {
    const rows = ['[{"a":1}', ',{"a":2}', ',{"a":3}', ',{"a":4}', ',{"a":5}]'];
    expect(readRows(rows, { limits: { blockBytes } }).blocks.map(({ profile }) => profile.rows)).toEqual(expected);
  });

  test('have profiles of their own, with places in the block', () => {
    const { blocks } = readRows(['[{"b":1,"a":1},{"a":2},{"b":3}]'], { limits: { blockRows: 1 } });
    expect(blocks.map(({ profile }) => profile.columns.map(({ id, first }) => [id, first.row]))).toEqual([
      [
        ['b', 0],
        ['a', 0],
      ],
      [['a', 0]],
      [['b', 0]],
    ]);
  });

  test('are returned as soon as they are full, and no block has no rows', () => {
    const reader = new JsonRowReader({ form: 'rows', limits: { blockRows: 2 } });
    expect(reader.push(Buffer.from('[{"a":1},{"a":2},'))).toEqual([]);
    expect(reader.push(Buffer.from('{"a":3}'))).toHaveLength(1);
    expect(reader.push(Buffer.from(']'))).toEqual([]);
    expect(reader.end().blocks).toHaveLength(1);
    expect(readRows(['[]']).blocks).toEqual([]);
  });
});

test('row IDs are kept if they are requested', () => {
  const text = `[{"$rowID":"AAAAAAAAAAEAAAACAAAAAw","a":1},{"a":1},{"$rowID":null},{"a":2,"$rowID":"x"},{"$rowID":7},
    {"$rowID":["AAAAAAAAAAEAAAACAAAAAw"]},{"$rowID":""},{"$rowID":"\\u0041AAAAAAAAAEAAAACAAAAAw"},{"a":3}]`;
  const { blocks } = readRows([text], { retainIds: true });
  const [id, none, wrong] = ['00000000000000010000000200000003', '0'.repeat(32), 'f'.repeat(32)];
  expect(blocks.map(({ ids }) => Buffer.from(ids!).toString('hex').match(/.{32}/g))).toEqual([
    [id, none, none, wrong, wrong, wrong, wrong, id, none],
  ]);
  expect(readRows([text]).blocks[0]!.ids).toBeNull();
  expect(readRows(['[{"a":1},{"$rowID":null}]'], { retainIds: true }).blocks[0]!.ids).toBeNull();
  const cut = readRows([text], { retainIds: true, limits: { blockRows: 2 } }).blocks;
  expect(cut.map(({ ids }) => ids?.length ?? null)).toEqual([32, 32, 32, 32, null]);
});

describe('envelopes', () => {
  test.each<[string, string, string[], Record<string, unknown> | null, boolean]>([
    ['none', '[{"a":1}]', ['{"a":1}'], null, true],
    ['rows first', '{"rows":[{"a":1}],"name":"n"}', ['{"a":1}'], { name: 'n' }, true],
    ['rows last', '{"name":"n","apps":["x"],"rows":[{"a":1}]}', ['{"a":1}'], { name: 'n', apps: ['x'] }, true],
    ['blanks everywhere', ' { "rows" : [ {"a":1} ] , "x" : 1.5 } ', ['{"a":1}'], { x: 1.5 }, true],
    ['an escaped key', '{"r\\u006fws":[{"a":1}]}', ['{"a":1}'], {}, true],
    ['a stash', '{"rows":{"$stashID":"s"}}', [], { rows: { $stashID: 's' } }, false],
    ['no rows', '{"$stashID":"s"}', [], { $stashID: 's' }, false],
    ['empty', '{}', [], {}, false],
  ])('an envelope is read: %s', (_name, text, bodies, envelope, hasRows) => {
    const read = readRows([text]);
    expect(bodiesOf(read)).toEqual(bodies);
    expect(read.envelope === null ? null : { ...read.envelope }).toEqual(envelope);
    expect(read.hasRows).toBe(hasRows);
  });

  test('a key does not change the prototype', () => {
    const { envelope } = readRows(['{"__proto__":{"polluted":true},"constructor":1}']);
    expect(Object.keys(envelope!)).toEqual(['__proto__', 'constructor']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('NDJSON', () => {
  test.each([
    ['a row on each line', '{"a":1}\n{"a": 2}\n', ['{"a":1}', '{"a": 2}']],
    ['without a line break at the end', '{"a":1}\n{"a":2}', ['{"a":1}', '{"a":2}']],
    ['other line breaks', '{"a":1}\r\n{"a":2}\r{"a":3} \t\n', ['{"a":1}', '{"a":2}', '{"a":3}']],
    ['blank lines, and blanks around rows', '\n \n {"a":1} \n\n\t{"a":2}\n\n', ['{"a":1}', '{"a":2}']],
    ['a byte order mark', '\ufeff{"a":1}\n', ['{"a":1}']],
    ['a row over several lines', '{"a":1,\n"b":2}\n{"a":3}', ['{"a":1,"b":2}', '{"a":3}']],
    [
      'rows are read as in JSON',
      '{"b":1,"a":null}\n{"a":12345678901234567890,"$rowID":"x","b":2}',
      ['{"b":1}', '{"b":2,"a":12345678901234567890}'],
    ],
    ['a member "rows" is a column', '{"rows":[{"a":1}]}', ['{"rows":[{"a":1}]}']],
  ])('NDJSON becomes row bodies: %s', (_name, text, bodies) => {
    const read = readRows([text], { form: 'lines' });
    expect(bodiesOf(read)).toEqual(bodies);
    expect(read).toMatchObject({ envelope: null, hasRows: true, isWhole: true, refusal: null });
  });

  test.each([
    ['', 'the body is empty'],
    ['\n \n', 'the body is empty'],
    ['[{"a":1}]', 'rows[0]: a row must be an object'],
    ['{"a":1}\n2\n', 'rows[1]: a row must be an object'],
    ['{"a":1},\n{"a":2}', 'rows[0]: something follows the row in its line'],
    ['{"a":1}\n{"a":2} {"a":3}', 'rows[1]: something follows the row in its line'],
    ['{"a":1}\n{"a":2}{"a":3}', 'rows[1]: something follows the row in its line'],
    ['{"a":1}\n{"b":}', 'rows[1].b: broken JSON, unexpected "}"'],
    ['{"a":1}\n{"b":"x', 'rows[1]: the body stops before its JSON ends'],
    ['{"a":1}\n{"b":1}\n{', 'rows[2]: the body stops before its JSON ends'],
    ['{"a":1}\n{"a":"\\u0000"}', 'rows[1].a: U+0000 cannot be stored'],
  ])('%j is malformed', (text, message) => {
    expect(refusalOf(() => readRows([text], { form: 'lines' }))).toEqual({ type: 'request_validation_error', message });
  });

  test('a row that is too long ends the reading', () => {
    const read = readRows([`{"a":1}\n{"a":"${'x'.repeat(600_000)}"}\nx`], { form: 'lines' });
    expect(read).toMatchObject({
      isWhole: false,
      refusal: { type: 'limit_exceeded', message: 'rows[1]: a row must not be longer than 524288 bytes' },
    });
  });

  test('blocks come as soon as they are full', () => {
    const reader = new JsonRowReader({ form: 'lines', limits: { blockRows: 2 } });
    expect(reader.push(Buffer.from('{"a":1}\n{"a":2}\n'))).toEqual([]);
    expect(reader.push(Buffer.from('{"a":3}'))).toHaveLength(1);
    expect(reader.push(Buffer.from('\n'))).toEqual([]);
    expect(reader.end().blocks).toHaveLength(1);
  });
});

describe('refused', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  test.each([
    ['', 'the body is empty'],
    [' \n', 'the body is empty'],
    ['\ufeff', 'the body is empty'],
    ['[', 'the body stops before its JSON ends'],
    ['[{"a":1}', 'the body stops before its JSON ends'],
    ['[{"a":tr', 'the body stops before its JSON ends'],
    ['{"name":"x', 'the body stops before its JSON ends'],
    ['[{"a":1}]]', 'broken JSON, unexpected "]"'],
    ['[{"a":1}] []', 'broken JSON, unexpected "["'],
    ['[{"a":1}]\0', 'broken JSON, unexpected byte 0x0'],
    ['[{"a":1}}', 'broken JSON, unexpected "}"'],
    ['[,{"a":1}]', 'rows[0]: a row must be an object'],
    ['[\u000b]', 'rows[0]: a row must be an object'],
    ['[\u00a0]', 'rows[0]: a row must be an object'],
    ['[{"a":1},]', 'rows[1]: a row must be an object'],
    ['[1]', 'rows[0]: a row must be an object'],
    ['[{"a":1},null]', 'rows[1]: a row must be an object'],
    ['"x"', 'the body must be an object or an array of rows'],
    [' \ufeff[]', 'the body must be an object or an array of rows'],
    ['[{"a":1}{"a":2}]', 'broken JSON, unexpected "{"'],
    ['[{"a":1},{"a":01}]', 'rows[1]: broken JSON, unexpected "1"'],
    ['[{"a":1.}]', 'rows[0].a: broken JSON, unexpected "}"'],
    ['[{"a":+1}]', 'rows[0].a: broken JSON, unexpected "+"'],
    ['[{"a":1e}]', 'rows[0].a: broken JSON, unexpected "}"'],
    ['[{"a":.5}]', 'rows[0].a: broken JSON, unexpected "."'],
    ['[{"a":NaN}]', 'rows[0].a: broken JSON, unexpected "N"'],
    ['[{"a":nul}]', 'rows[0].a: broken JSON, unexpected "}"'],
    ['[{"a":True}]', 'rows[0].a: broken JSON, unexpected "T"'],
    ['[{"a":undefined}]', 'rows[0].a: broken JSON, unexpected "u"'],
    ['[{"a":-Infinity}]', 'rows[0].a: broken JSON, unexpected "I"'],
    ['[{"a":-}]', 'rows[0].a: broken JSON, unexpected "}"'],
    ['[{"a":0x10}]', 'rows[0]: broken JSON, unexpected "x"'],
    ['[{"a":1/* x */}]', 'rows[0]: broken JSON, unexpected "/"'],
    ['[{"a":}]', 'rows[0].a: broken JSON, unexpected "}"'],
    ["[{'a':1}]", 'rows[0]: broken JSON, unexpected "\'"'],
    ['[{"a" 1}]', 'rows[0]: broken JSON, unexpected "1"'],
    ['[{"a":1 "b":2}]', 'rows[0]: broken JSON, unexpected "\\""'],
    ['[{"a":1,}]', 'rows[0]: broken JSON, unexpected "}"'],
    ['[{"a":[1,]}]', 'rows[0].a: broken JSON, unexpected "]"'],
    ['[{"a":"x\ny"}]', 'rows[0].a: broken JSON, unexpected byte 0xa'],
    ['[{"a":"x\0y"}]', 'rows[0].a: broken JSON, unexpected byte 0x0'],
    ['[{"a":"\\x"}]', 'rows[0].a: broken JSON, unexpected "x"'],
    ['[{"a":"\\u12g4"}]', 'rows[0].a: broken JSON, unexpected "g"'],
    ['[{"a":"\\u00"}]', 'rows[0].a: broken JSON, unexpected "\\""'],
    ['[{"a":"x\ty"}]', 'rows[0].a: broken JSON, unexpected byte 0x9'],
    ['[{"a":1,"b":2,"a":3}]', 'rows[0].a: the key stands twice in its row'],
    ['[{"a":1},{"a":1,"\\u0061":3}]', 'rows[1].a: the key stands twice in its row'],
    ['[{"$rowID":1,"$rowID":1}]', 'rows[0].$rowID: the key stands twice in its row'],
    ['[{"__proto__":1,"__proto__":1}]', 'rows[0].__proto__: the key stands twice in its row'],
    ['[{"my age":"\\u0000"}]', 'rows[0]["my age"]: U+0000 cannot be stored'],
    ['[{"a":[{"\\u0000":1}]}]', 'rows[0].a: U+0000 cannot be stored'],
    ['[{"\\u0000":1}]', 'rows[0]: U+0000 cannot be stored'],
    ['[{"a":"\\ud83d"}]', 'rows[0].a: a lone surrogate cannot be stored'],
    ['[{"a":"\\ude00\\ud83d"}]', 'rows[0].a: a lone surrogate cannot be stored'],
    ['[{"a":"\\ud83d\\u0041"}]', 'rows[0].a: a lone surrogate cannot be stored'],
    ['[{"a":1e400}]', 'rows[0].a: the number is too large to be stored'],
    ['[{"a":{"b":[-1E999]}}]', 'rows[0].a: the number is too large to be stored'],
    [`[{"a":${'9'.repeat(310)}}]`, 'rows[0].a: the number is too large to be stored'],
    [`[{"a":${deep(33)}}]`, 'rows[0].a: nested deeper than 32 levels'],
    [`[{"a":${deep(100_000)}}]`, 'rows[0].a: nested deeper than 32 levels'],
    [`[{"a":${'{"a":'.repeat(33)}`, 'rows[0].a: nested deeper than 32 levels'],
    ['[{"":1}]', 'rows[0]: a column ID must not be empty'],
    [`[{"${'é'.repeat(129)}":1}]`, 'rows[0]: a column ID must not be longer than 256 bytes'],
    ['{"name":"a","name":"b"}', 'name: the key stands twice in the body'],
    ['{"rows":[],"rows":[]}', 'rows: the key stands twice in the body'],
    ['{"name":"\\ud800"}', 'name: a lone surrogate cannot be stored'],
    ['{"schema":1e999}', 'schema: the number is too large to be stored'],
    [`{"schema":${deep(33)}}`, 'schema: nested deeper than 32 levels'],
    ['{"a":1,}', 'broken JSON, unexpected "}"'],
    ['{"a":1 "b":2}', 'broken JSON, unexpected "\\""'],
    ['{a:1}', 'broken JSON, unexpected "a"'],
  ])('the body %j is refused', (text, message) => {
    expect(refusalOf(() => readRows([text]))).toEqual({ type: 'request_validation_error', message });
  });

  test('an object is refused where only an array is expected', () => {
    expect(refusalOf(() => readRows(['{"rows":[]}'], { form: 'rows' }))?.message).toBe(
      'the body must be an array of rows: send one row as [{...}]',
    );
  });

  test.each([
    ['a cut character', [0x5b, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x22, 0x7d, 0x5d]],
    ['a surrogate as bytes', [0x5b, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d, 0x5d]],
    ['an overlong form', [0x5b, 0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d, 0x5d]],
  ])('the text of a body is refused for %s', (_name, bytes) => {
    expect(refusalOf(() => readRows([Uint8Array.from(bytes)]))).toEqual({
      type: 'request_validation_error',
      message: 'the body is not valid UTF-8',
    });
  });

  test.each([
    ['cell', `[{"a":1},{"b":"${'x'.repeat(262_143)}"}]`, 'rows[1].b: a value must not be longer than 262144 bytes'],
    [
      'row',
      `[{"a":"${'x'.repeat(200_000)}","b":"${'x'.repeat(200_000)}","c":"${'x'.repeat(124_272)}"}]`,
      'rows[0]: a row must not be longer than 524288 bytes',
    ],
    [
      'columns',
      `[${Array.from({ length: 2_001 }, (_, column) => `{"k${column}":1}`).join(',')}]`,
      'rows[2000]: more than 2000 different columns',
    ],
    [
      'envelope',
      `{"a":"${'x'.repeat(600_000)}","b":"${'x'.repeat(600_000)}","rows":[]}`,
      'everything but the rows must not be longer than 1048576 bytes',
    ],
  ])('a body beyond a limit is refused: %s', (_name, text, message) => {
    expect(refusalOf(() => readRows([text]))).toEqual({ type: 'limit_exceeded', message });
  });

  test.each<[string, string, boolean, number]>([
    ['a long cell, whose body is whole', `[{"a":"${'x'.repeat(300_000)}"},{"a":1}]`, true, 2],
    ['a long row, behind which nothing is read', `[{"a":1},{"a":"${'x'.repeat(600_000)}"},{"a":2},`, false, 0],
  ])('the body is refused for %s', (_name, text, isWhole, rows) => {
    const read = readRows([text]);
    expect([read.isWhole, read.blocks.reduce((sum, { profile }) => sum + profile.rows, 0)]).toEqual([isWhole, rows]);
  });

  test.each(['[{"a":"LONG"},{"a":}]', '[{"a":"LONG","a":1}]', '[{"a":"LONG"}', '{"rows":[{"a":"LONG"}],"rows":[]}'])(
    '%s is malformed',
    (text) => {
      expect(refusalOf(() => readRows([text.replace('LONG', 'x'.repeat(300_000))]))?.type).toBe(
        'request_validation_error',
      );
    },
  );

  test('an endless row is refused as soon as it is too long, and needs no memory from then on', () => {
    const reader = new JsonRowReader({ form: 'rows' });
    reader.push(Buffer.from('[{"a":"'));
    const chunk = Buffer.alloc(65_536, 'x');
    for (let pushed = 0; pushed < 9; pushed += 1) reader.push(chunk);
    expect(reader.refusal).toEqual({
      type: 'limit_exceeded',
      message: 'rows[0]: a row must not be longer than 524288 bytes',
    });
    const before = process.memoryUsage().arrayBuffers;
    for (let pushed = 0; pushed < 1000; pushed += 1) reader.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
    expect(reader.end()).toMatchObject({ blocks: [], isWhole: false });
  });

  test('a body within the limits is accepted', () => {
    const cell = `"${'x'.repeat(262_142)}"`;
    expect(rowsOf(`[{"a":${cell},"b":${cell.slice(0, -20)}"}]`)).toHaveLength(1);
    expect(rowsOf(`[{"a":${deep(32)},"${'é'.repeat(128)}":1}]`)).toHaveLength(1);
    expect(rowsOf(`[{"a":${'9'.repeat(305)}},{"a":1e-400}]`)).toHaveLength(2);
  });
});

describe('where cells may be dropped', () => {
  const dropping = (text: string | readonly (string | Uint8Array)[], options: object = {}): RowsRead =>
    readRows(typeof text === 'string' ? [text] : text, { dropsCells: true, ...options });
  const drop = (
    text: string | readonly (string | Uint8Array)[],
    options: object = {},
  ): { readonly bodies: string[]; readonly dropped: number } => {
    const read = dropping(text, options);
    return { bodies: bodiesOf(read), dropped: read.blocks.reduce((sum, { profile }) => sum + profile.dropped!, 0) };
  };
  const long = 'x'.repeat(262_143);

  test.each<[string, string, string[], number]>([
    ['nothing bad', '[{"a":1}]', ['{"a":1}'], 0],
    ['U+0000', '[{"a":"x\\u0000","b":1},{"a":"y"}]', ['{"b":1}', '{"a":"y"}'], 1],
    [
      'lone surrogates',
      '[{"a":"\\ud83d","b":"\\ude00\\ud83d","c":"\\ud83d\\u0041","d":"\\ud83d\\ud83d\\ude00","e":"\\ud83d\\ude00"}]',
      ['{"e":"\\ud83d\\ude00"}'],
      4,
    ],
    ['deep inside', '[{"a":[1,{"\\u0000":2}],"b":{"c":["\\ud800"]},"d":2}]', ['{"d":2}'], 2],
    ['all cells of a row', '[{"a":"\\u0000"}]', ['{}'], 1],
    ['a text that is too long', `[{"a":"${long}","b":1}]`, ['{"b":1}'], 1],
    ['one of the largest texts is not', `[{"a":"${long.slice(1)}","b":1}]`, [`{"a":"${long.slice(1)}","b":1}`], 0],
    ['an array that is too long', `[{"a":["${long}",1],"b":[${'1,'.repeat(140_000)}1],"c":1}]`, ['{"c":1}'], 2],
    ['what `$rowID` is', '[{"$rowID":"\\u0000","a":1}]', ['{"a":1}'], 0],
  ])('cells are dropped: %s', (_name, text, bodies, dropped) => expect(drop(text)).toEqual({ bodies, dropped }));

  test.each([
    ['[{"a":1,"\\u0000":1}]', 'rows[0]: U+0000 cannot be stored'],
    ['{"name":"\\u0000","rows":[{"a":"\\u0000"}]}', 'name: U+0000 cannot be stored'],
    ['{"rows":[{"a":"\\u0000"}],"name":"\\u0000"}', 'name: U+0000 cannot be stored'],
    ['[{"a":"\\u0000","a":1}]', 'rows[0].a: the key stands twice in its row'],
    ['[{"a":"\\u0000" 1}]', 'rows[0]: broken JSON, unexpected "1"'],
    ['[{"a":1e999}]', 'rows[0].a: the number is too large to be stored'],
  ])('%s is refused', (text, message) => {
    expect(refusalOf(() => dropping(text))).toEqual({ type: 'request_validation_error', message });
  });

  test('a row may have any number of texts that are too long', () => {
    const endless = `"${'é\\n\\u00e9\\\\'.repeat(300_000)}"`;
    const row = `{"a":${endless},"b":1,"c":[{"d":${endless}},"e"],"f":"g"}`;
    expect(drop(`[${row},${row}]`)).toEqual({ bodies: ['{"b":1,"f":"g"}', '{"b":1,"f":"g"}'], dropped: 4 });
  });

  test('dropped cells do not count to the length of a row, however the body is cut', () => {
    const rest = `"${'y'.repeat(200_000)}"`;
    const row = `{"a":${rest},"b":"${long}${long}","c":${rest},"d":"\\u0000"}`;
    const bytes = Buffer.from(`[${row},{"e":1}]`);
    for (const size of [70_000, 131_072, 300_001, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      expect(drop(chunks)).toEqual({ bodies: [`{"a":${rest},"c":${rest}}`, '{"e":1}'], dropped: 2 });
    }
    const tooLong = { type: 'limit_exceeded', message: 'rows[0]: a row must not be longer than 524288 bytes' };
    expect(refusalOf(() => dropping(`[{"a":${rest},"b":${rest},"c":${rest}}]`))).toEqual(tooLong);
    expect(refusalOf(() => dropping(`[{"${long.repeat(3)}":1}]`))).toEqual(tooLong);
  });

  test('an endless text needs little memory', () => {
    const reader = new JsonRowReader({ form: 'rows', dropsCells: true });
    reader.push(Buffer.from('[{"a":"'));
    const chunk = Buffer.alloc(65_536, 'x');
    const before = process.memoryUsage().arrayBuffers;
    for (let pushed = 0; pushed < 1000; pushed += 1) reader.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
    const [block] = [...reader.push(Buffer.from('"}]')), ...reader.end().blocks];
    expect([Buffer.from(block!.body).toString(), block!.profile.dropped]).toEqual(['{}', 1]);
  });

  test('a text that is removed from the body must be UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('[{"a":"'), Buffer.alloc(300_000, 0xff), Buffer.from('"}]')]);
    expect(refusalOf(() => dropping([bytes]))).toEqual({
      type: 'request_validation_error',
      message: 'the body is not valid UTF-8',
    });
  });
});
