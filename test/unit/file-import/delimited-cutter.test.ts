import { describe, expect, test } from '@jest/globals';
import Papa from 'papaparse';
import type { Delimiter } from '../../../src/formats/delimited-records.ts';
import { fc } from '../../support/property.ts';
import { chunksOf } from '../formats/json-text.ts';
import { cellText } from '../values/cell-texts.ts';
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
  ])('%s', (_what, text, bodies, lines) => {
    const chunks = cutPieces('csv', [text], two);
    expect(chunks.map(bodyOf)).toEqual(bodies);
    expect(linesOf(chunks)).toEqual(lines);
  });

  test('by their bytes too, and no row is too large for a chunk of its own', () => {
    const chunks = cutPieces('csv', [`a\n1\n${'x'.repeat(50)}\n2\n3\n`], { rows: 100, bytes: 20 });
    expect(chunks.map(({ rows }) => rows)).toEqual([1, 1, 2]);
  });

  test('lines are remembered for each row only where rows take more than one', () => {
    const chunks = cutPieces('csv', ['a\n1\n2\n"x\ny"\n3\n'], two);
    expect(chunks.map(({ lines }) => lines)).toEqual([{ first: 2, each: null }, { first: 4, each: new Uint32Array([4, 6]) }]);
  });
});

describe('other delimiters become commas', () => {
  test.each<readonly [string, string, Delimiter | undefined, string, Delimiter | null]>([
    ['semicolons', 'a;b\r\n1,5;x\r\n;\r\n', undefined, 'a,b\n"1,5",x\n,\n', ';'],
    ['bars', 'a|b\n"x|y"|"z ""q"""\n', undefined, 'a,b\nx|y,"z ""q"""\n', '|'],
    ['tabs', 'a\tb\n1\t2', undefined, 'a,b\n1,2\n', '\t'],
    ['commas stay as they are', 'a,b;c\r\n "1", 2\r\n', ',', 'a,b;c\r\n "1", 2\r\n', null],
    ['commas that are recognised', 'a,b\n1;2;3,4\n', undefined, 'a,b\n1;2;3,4\n', null],
    ['the most of them', 'a,b;c;d\n1;2;3\n', undefined, '"a,b",c,d\n1,2,3\n', ';'],
    ['those that the rows have too, though the header has as many others', 'Preis, netto;Menge, Stk\r\n1,50;"5"\r\n2,75;6\r\n', undefined,
      '"Preis, netto","Menge, Stk"\n"1,50",5\n"2,75",6\n', ';'],
    ['those of most rows', 'a,b;c,d\n1;2\n\n3;4\n5\n', undefined, '"a,b","c,d"\n1,2\n3,4\n5\n', ';'],
    ['those of the header where all rows are short', 'a;b;c,d\n1\n', undefined, 'a,b,"c,d"\n1\n', ';'],
    ['a cell that is empty and alone', '"a"\n""\nx\n', ';', 'a\n""\nx\n', null],
    ['none in quotes', '"a;b;c",d\n1,2\n', undefined, '"a;b;c",d\n1,2\n', null],
    ['what was told', 'a;b,c\n1;2,3\n', ';', 'a,"b,c"\n1,"2,3"\n', null],
    ['tabs that were told', 'a\tb,c\n1\t2\n', '\t', 'a\tb,c\n1\t2\n', null],
    ['one column', 'a\n1;2\n', undefined, 'a\n1;2\n', null],
  ])('%s', (_what, text, delimiter, body, recognised) => {
    const told: Delimiter[] = [];
    expect(cutPieces('csv', [text], undefined, { delimiter, onRecognised: (found) => told.push(found) }).map(bodyOf)).toEqual([body]);
    expect(told).toEqual(recognised === null ? [] : [recognised]);
  });

  test('they are recognised alike however the bytes come', () => {
    const text = `a,b;c,d\n${'1;2\n'.repeat(30_000)}`;
    const whole = cutPieces('csv', [text]).map(bodyOf);
    expect(whole[0]!.split('\n', 2)).toEqual(['"a,b","c,d"', '1,2']);
    expect(cutPieces('csv', chunksOf(Buffer.from(text), [1, 10, 70_000])).map(bodyOf)).toEqual(whole);
  });

  test('and rows keep their lines', () => {
    expect(linesOf(cutPieces('csv', ['a;b\n"x\ny";1\n\n2;3\n']))).toEqual([2, 5]);
  });

  test('mistakes are found here, for the service would not see them', () => {
    expect(mistakeOf(() => cutPieces('csv', ['a;b\n1;2\n3;x"y"\n']))).toEqual([3, String.raw`cell 2: "x\"" has a quote in it, but does not begin with one`]);
  });

  test('random cells come through', () => {
    fc.assert(fc.property(fc.array(fc.tuple(cellText, cellText), { minLength: 1, maxLength: 8 }), fc.constantFrom<Delimiter>(';', '|', '\t'), (rows, delimiter) => {
      const written = [['a', 'b'], ...rows];
      const [chunk] = cutPieces('csv', [Papa.unparse(written, { delimiter, newline: '\n' })]);
      expect(Papa.parse(bodyOf(chunk!).replace(/\n$/, ''), { delimiter: ',', newline: '\n' }).data).toEqual(written);
    }));
  });
});

test('TSV: commas are nothing special', () => {
  expect(cutPieces('tsv', ['a\tb\n1,2\t"x\ty"\n']).map(bodyOf)).toEqual(['a\tb\n1,2\t"x\ty"\n']);
});

describe('what cannot be cut is refused with its line', () => {
  const long = 'x'.repeat(524_289);
  test.each<readonly [string, string | Uint8Array, readonly [number, string]]>([
    ['nothing', '', [1, 'the file has no header: its first line must name the columns']],
    ['blank lines alone', '\n\r\n', [1, 'the file has no header: its first line must name the columns']],
    ['an open quote', 'a\n1\n"x\ny\n', [3, String.raw`cell 1: "\"x\ny\n" begins with a quote that is never closed`]],
    ['a quote in a cell', 'a,b\n1,2\n3,x"\n4,5\n', [3, String.raw`cell 2: "x\"" has a quote in it, but does not begin with one`]],
    ['a long row', `a\n1\n${long}\n2\n`, [3, 'a row must not be longer than 524288 bytes']],
    ['a long row without an end', `a\n${long}xxx`, [2, 'a row must not be longer than 524288 bytes']],
    ['an open quote before much', `a\n1\n"${long}xxx`, [
      3, 'a row must not be longer than 524288 bytes; cell 1 has a quote that is not closed within them',
    ]],
    ['bytes that are no UTF-8', Buffer.from('a\n1\n"x\n\xff"\n', 'latin1'), [4, 'the text is not UTF-8']],
  ])('%s', (_what, content, mistake) => {
    expect(mistakeOf(() => cutPieces('csv', [content]))).toEqual(mistake);
  });
});
