import { describe, expect, test } from '@jest/globals';
import { cutterFor } from '../../../../clients/file-import/cut-file.ts';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { chunksOf } from '../../language/formats/json-text.ts';
import { bodyOf, cutPieces, linesOf, mistakeOf } from './cut-pieces.ts';

const two = { rows: 2, bytes: 1000 };

describe('CSV is cut into chunks with its header', () => {
  test.each([
    ['rows', 'a,b\n1,2\n3,4\n5,6\n', ['a,b\n1,2\n3,4\n', 'a,b\n5,6\n'], [2, 3, 4]],
    ['no line end at the end', 'a\n1\n2\n3', ['a\n1\n2\n', 'a\n3'], [2, 3, 4]],
    ['carriage returns', 'a\r\n1\r\n2\r\n3\r\n', ['a\r\n1\r\n2\r\n', 'a\r\n3\r\n'], [2, 3, 4]],
    ['line breaks in quotes', 'a,b\n"x\ny",1\n"""\n",2\nz,3\n', ['a,b\n"x\ny",1\n"""\n",2\n', 'a,b\nz,3\n'], [2, 4, 6]],
    ['blank lines', '\n\na\n\n1\n\r\n2\n\n3\n', ['a\n1\n2\n', 'a\n3\n'], [5, 7, 9]],
    ['a byte order mark', '\ufeffa\n1\n', ['a\n1\n'], [2]],
    ['quotes in the header', '"a\nb"\n1\n2\n3\n', ['"a\nb"\n1\n2\n', '"a\nb"\n3\n'], [3, 4, 5]],
    ['a header alone', 'a,b', ['a,b\n'], []],
    ['a header and its line end', 'a,b\r\n', ['a,b\r\n'], []],
    ['texts as they are', 'a\n 004.20 \n"é 😀"\n', ['a\n 004.20 \n"é 😀"\n'], [2, 3]],
  ])('CSV is cut into chunks with its header: %s', (_what, text, bodies, lines) => {
    const chunks = cutPieces('csv', [text], two);
    expect(chunks.map(bodyOf)).toEqual(bodies);
    expect(linesOf(chunks)).toEqual(lines);
  });

  test('chunks are also cut by their bytes, and no row is too large for a chunk of its own', () => {
    const chunks = cutPieces('csv', [`a\n1\n${'x'.repeat(50)}\n2\n3\n`], { rows: 100, bytes: 20 });
    expect(chunks.map(({ rows }) => rows)).toEqual([1, 1, 2]);
  });

  test('lines are stored for each row only if a row takes more than one', () => {
    const chunks = cutPieces('csv', ['a\n1\n2\n"x\ny"\n3\n'], two);
    expect(chunks.map(({ lines }) => lines)).toEqual([
      { first: 2, each: null },
      { first: 4, each: new Uint32Array([4, 6]) },
    ]);
  });
});

describe('detected delimiters go with the chunks, whose bytes are those of the file', () => {
  test.each<readonly [string, string, string | null]>([
    ['semicolons', 'a;b\r\n1,5;x\r\n;\r\n', ';'],
    ['bars', 'a|b\n"x|y"|"z ""q"""\n', '|'],
    ['tabs', 'a\tb\n1\t2', '\t'],
    ['commas', 'a,b\n1;2;3,4\n', null],
    ['the most of them', 'a,b;c;d\n1;2;3\n', ';'],
    [
      'those that the rows have too, though the header has as many others',
      'Preis, netto;Menge, Stk\r\n1,50;"5"\r\n2,75;6\r\n',
      ';',
    ],
    ['those of most rows', 'a,b;c,d\n1;2\n3;4\n5\n', ';'],
    ['those of the header where all rows are short', 'a;b;c,d\n1\n', ';'],
    ['those with which no quote is misplaced', 'a;b,c\n"x,y";1\n"z,u";2\n', ';'],
    ['none in quotes', '"a;b;c",d\n1,2\n', null],
    ['one column', 'a\n1;2\n', null],
    ['of lines that end with carriage returns', 'a,b;c\r1;2\r3;4\r', ';'],
  ])('a recognised delimiter goes with the chunks: %s', (_what, text, recognised) => {
    const told: string[] = [];
    const cutter = cutterFor('csv', { onRecognised: (found) => told.push(found) });
    expect([...cutter.push(Buffer.from(text)), ...cutter.end()].map(bodyOf)).toEqual([text]);
    expect([cutter.form, told]).toEqual(recognised === null ? [{}, []] : [{ delimiter: recognised }, [recognised]]);
  });

  test('they are detected alike, in whatever pieces the bytes arrive', () => {
    const text = `a,b;c,d\n${'1;2\n'.repeat(30_000)}`;
    for (const pieces of [[Buffer.from(text)], chunksOf(Buffer.from(text), [1, 10, 70_000])]) {
      const cutter = cutterFor('csv');
      const chunks = pieces.flatMap((piece) => [...cutter.push(piece)]);
      expect([...chunks, ...cutter.end()].map(({ rows }) => rows)).toEqual(Array.from({ length: 30 }, () => 1000));
      expect(cutter.form).toEqual({ delimiter: ';' });
    }
  });
});

describe('stated forms, and forms that are always recognized', () => {
  test.each<readonly [string, string, DelimitedForm, readonly string[], readonly number[], DelimitedForm]>([
    ['a delimiter', 'a;b,c\n1;2,3\n', { delimiter: ',' }, ['a;b,c\n1;2,3\n'], [2], { delimiter: ',' }],
    [
      'a cell that is empty and alone',
      'x\n""\n"a"\n',
      { delimiter: ';' },
      ['x\n""\n"a"\n'],
      [2, 3],
      { delimiter: ';' },
    ],
    [
      'a first line that names the delimiter',
      '\ufeffsep=;\r\na;b\r\n1;2\r\n',
      {},
      ['a;b\r\n1;2\r\n'],
      [3],
      { delimiter: ';' },
    ],
    [
      'a header that would name the delimiter',
      '\nsep=;\na\nb\nc\n',
      {},
      ['\nsep=;\na\nb\n', '\nsep=;\nc\n'],
      [3, 4, 5],
      { delimiter: ';' },
    ],
    [
      'a header that begins with a byte order mark',
      'sep=;\n\ufeffa\n1\n',
      {},
      ['\n\ufeffa\n1\n'],
      [3],
      { delimiter: ';' },
    ],
    [
      'lines before the header',
      'Station "report\nMade 2024-01-01\n\nyear,mean\n1959,315.98\n',
      { skipLines: 3 },
      ['year,mean\n1959,315.98\n'],
      [5],
      {},
    ],
    [
      'no header',
      'x,y\n1\n2,3\n',
      { header: 'absent' },
      ['"column_1","column_2"\nx,y\n1\n', '"column_1","column_2"\n2,3\n'],
      [1, 2, 3],
      { header: 'present' },
    ],
    ['comments', '#x"\na\n#\n1\n"#"\n#,', { comment: '#' }, ['a\n1\n"#"\n'], [4, 5], { comment: '#' }],
    ['line breaks in other quotes', "a\n'x\n'''\n1\"\n", { quote: "'" }, ["a\n'x\n'''\n1\"\n"], [2, 4], { quote: "'" }],
    [
      'line breaks behind escapes',
      'a\n"x\\"\n"\n2\n',
      { escape: '\\' },
      ['a\n"x\\"\n"\n2\n'],
      [2, 4],
      { escape: '\\' },
    ],
    ['no quotes', 'a\n"x\n"\n', { quote: 'none' }, ['a\n"x\n"\n'], [2, 3], { quote: 'none' }],
    [
      'quotes in cells',
      'a,b\n6",x "y"\n "p\nq" ,\n',
      { lenient: true },
      ['a,b\n6",x "y"\n "p\nq" ,\n'],
      [2, 3],
      { lenient: true },
    ],
    ['carriage returns', 'a\r1\r\r"2\r"\r3', {}, ['a\r1\r"2\r"\r', 'a\r3'], [2, 4, 6], {}],
    ['Ctrl-Z', 'a\n1\n2\n\u001a', {}, ['a\n1\n2\n\u001a'], [2, 3], {}],
    ['Ctrl-Z below a header', 'a\n\u001a\u001a', {}, ['a\n\u001a\u001a'], [], {}],
  ])('forms go with the chunks: %s', (_what, text, form, bodies, lines, sent) => {
    for (const pieces of [[Buffer.from(text)], Array.from(Buffer.from(text), (byte) => Buffer.from([byte]))]) {
      const cutter = cutterFor('csv', { form, limits: two });
      const chunks = [...pieces.flatMap((piece) => [...cutter.push(piece)]), ...cutter.end()];
      expect([chunks.map(bodyOf), linesOf(chunks), cutter.form]).toEqual([bodies, lines, sent]);
    }
  });

  test('marks that contradict each other are refused', () => {
    expect(mistakeOf(() => cutPieces('csv', ['a\n'], undefined, { form: { quote: ',' } }))).toEqual([
      null,
      'quote: must not be the delimiter too',
    ]);
  });

  test('the meaning of the names in the header goes with the chunks', () => {
    const cutter = cutterFor('csv', { columnsOf: (names) => ({ [names[1]!]: 'b' }) });
    expect([...cutter.push(Buffer.from('a, "Full name"\n1,2\n')), ...cutter.end()].map(bodyOf)).toEqual([
      'a, "Full name"\n1,2\n',
    ]);
    expect(cutter.form).toEqual({ columns: { 'Full name': 'b' } });
  });
});

test('commas in TSV are text', () => {
  expect(cutPieces('tsv', ['a\tb\n1,2\t"x\ty"\n']).map(bodyOf)).toEqual(['a\tb\n1,2\t"x\ty"\n']);
});

describe('a file that cannot be cut is refused with its line', () => {
  const long = 'x'.repeat(524_289);
  test.each<readonly [string, string | Uint8Array, readonly [number, string]]>([
    ['nothing', '', [1, 'the file has no header: its first line must name the columns']],
    ['blank lines alone', '\n\r\n', [1, 'the file has no header: its first line must name the columns']],
    ['an open quote', 'a\n1\n"x\ny\n', [3, String.raw`cell 1: "\"x\ny\n" begins with a quote that is never closed`]],
    ['a long row', `a\n1\n${long}\n2\n`, [3, 'a row must not be longer than 524288 bytes']],
    ['a long row without an end', `a\n${long}xxx`, [2, 'a row must not be longer than 524288 bytes']],
    [
      'an open quote before much',
      `a\n1\n"${long}xxx`,
      [3, 'a row must not be longer than 524288 bytes; cell 1 has a quote that is not closed within them'],
    ],
    ['bytes that are no UTF-8', Buffer.from('a\n1\n"x\n\xff"\n', 'latin1'), [4, 'the text is not UTF-8']],
  ])('CSV that cannot be cut is refused with its line: %s', (_what, content, mistake) => {
    expect(mistakeOf(() => cutPieces('csv', [content]))).toEqual(mistake);
  });
});

test.each<readonly ['csv' | 'json' | 'ndjson', string, number, string]>([
  ['csv', `a,b\n1,2\n3,"${'é'.repeat(140_000)}"\n`, 3, 'cell 2: a cell must not be longer than 262144 bytes'],
  ['json', `[{"a":1},\n{"b c":"${'x'.repeat(300_000)}"}]`, 2, '"b c": a value must not be longer than 262144 bytes'],
  ['ndjson', `{"a":1}\n{"b":"${'x'.repeat(300_000)}"}\n`, 2, 'b: a value must not be longer than 262144 bytes'],
])(
  'a long cell in %s is refused before its chunk is made, unless the service is to drop it',
  (format, text, line, reason) => {
    const cut = (refusesLongCells: boolean) => cutPieces(format, [text], undefined, { refusesLongCells });
    expect(mistakeOf(() => cut(true))).toEqual([line, reason]);
    expect(cut(false).map(({ rows }) => rows)).toEqual([2]);
  },
);
