/**
 * Forms of CSV and TSV that are not by RFC 4180: those that are read without being asked, and those that a person
 * names.
 */
import { describe, expect, test } from '@jest/globals';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { conflictIn, delimiterOf, isMark } from '../../../../src/language/formats/dialect.ts';
import { readCells } from './read-cells.ts';
import { bodiesOf, refusalOf } from './read-rows.ts';

const inBytes = (text: string): Buffer[] => Array.from(Buffer.from(text), (byte) => Buffer.from([byte]));
const firstLineNoted = 'first line: named the delimiter by sep=';
const blanksNoted = 'blanks around quoted cells: were left out';
const endNoted = 'Ctrl-Z at the end: was left out';

describe('forms that are always recognized', () => {
  test.each<[string, string, string[], string[]]>([
    ['a first line that names the delimiter', 'sep=;\na;b,c\n1;2\n', ['{"a":1,"b,c":2}'], [firstLineNoted]],
    ['it is quoted, behind a byte order mark', '\ufeff"SEP=|"\r\na|b\r\n1|2\r\n', ['{"a":1,"b":2}'], [firstLineNoted]],
    ['it names a tab', 'sep=\t\ra\tb\r1\t2', ['{"a":1,"b":2}'], [firstLineNoted]],
    ['it is not the first', 'a\nsep=;\n', ['{"a":"sep=;"}'], []],
    ['it names more than a delimiter', 'sep=;;\n1\n', ['{"sep=;;":1}'], []],
    ['Ctrl-Z at the end', 'a\n1\n\u001a', ['{"a":1}'], [endNoted]],
    ['several, and behind a cell', 'a\n1\u001a\u001a', ['{"a":1}'], [endNoted]],
    ['Ctrl-Z elsewhere is text', 'a\n\u001a\n1\n', ['{"a":"\\u001a"}', '{"a":"1"}'], []],
    ['carriage returns as line ends', 'a,b\r1,x\r\r2,"y\r\rz"\r', ['{"a":1,"b":"x"}', '{"a":2,"b":"y\\r\\rz"}'], []],
    ['line ends of all kinds', 'a\n"1"\r"2"\r\n3\n\r4\r', ['{"a":1}', '{"a":2}', '{"a":3}', '{"a":4}'], []],
    [
      'blanks before a quoted cell, and behind it',
      '"Index", "Item"\n1, "Sunscreen, 8 oz"\n"2" \t,"x"\t\n',
      ['{"Index":1,"Item":"Sunscreen, 8 oz"}', '{"Index":2,"Item":"x"}'],
      [blanksNoted],
    ],
    ['as many blanks as may be', `a\n${' '.repeat(1_000)}"x"${' '.repeat(5_000)}\n`, ['{"a":"x"}'], [blanksNoted]],
    [
      'names in NFD',
      'e\u0301,u\u0308\n1,2\n',
      ['{"\u00e9":1,"\u00fc":2}'],
      [0, 1].map((at) => `header[${at}]: was written in another normal form of Unicode than its column`),
    ],
  ])('a form is read without being asked: %s', (_name, text, expected, notes) => {
    for (const chunks of [[text], inBytes(text)]) {
      const read = readCells(chunks);
      expect([bodiesOf(read), read.remarks.notes]).toEqual([expected, notes]);
    }
  });

  test.each<[string, string[], DelimitedForm, string[], string | null]>([
    ['a column in NFD is that of the table', ['e\u0301'], {}, ['e\u0301'], null],
    ['a column in NFD means that of the table in NFC', ['\u00e9'], {}, ['\u00e9'], 'header[0]'],
    ['of two columns it is the same one', ['\u00e9', 'e\u0301'], {}, ['e\u0301'], null],
    ['a person named it in another form', [], { columns: { '\u00e9': 'o\u0308' } }, ['o\u0308'], null],
  ])('names in NFD: %s', (_name, columns, form, ids, note) => {
    const { blocks, remarks } = readCells(['e\u0301\n1\n'], { columns, form });
    expect(blocks[0]!.profile.columns.map(({ id }) => id)).toEqual(ids);
    expect(remarks.notes.map((text) => text.split(':')[0])).toEqual(note === null ? [] : [note]);
  });

  test('a stated column ID does not apply to the other normal form of a name if the header has both', () => {
    const form = { columns: { 'e\u0301': 'e\u0301' } };
    for (const columns of [[], ['\u00e9', 'e\u0301']]) {
      const { blocks } = readCells(['\u00e9,e\u0301\n1,2\n'], { columns, form });
      expect(bodiesOf({ blocks }).map((body) => JSON.parse(body) as unknown)).toEqual([{ '\u00e9': 1, 'e\u0301': 2 }]);
    }
  });

  test('a name in NFC means a column of the table in NFD', () => {
    const { blocks } = readCells(['\u00e9\n1\n'], { columns: ['e\u0301'] });
    expect(blocks[0]!.profile.columns.map(({ id }) => id)).toEqual(['e\u0301']);
  });

  test.each([
    [[], 'header[1]: the column ID "\u00e9" occurs twice'],
    [['e\u0301', '\u00e9'], null],
  ])('a header with both forms of a name, with the columns %j in the table, gives: %s', (columns, message) => {
    expect(refusalOf(() => readCells(['\u00e9,e\u0301\n'], { columns }))?.message ?? null).toBe(message);
  });
});

describe('stated forms', () => {
  const backslash = { escape: '\\' };

  test.each<[string, string, DelimitedForm, string[]]>([
    ['semicolons', 'a;b,c\n1;"x;y"\n', { delimiter: ';' }, ['{"a":1,"b,c":"x;y"}']],
    [
      'blanks between cells',
      'a b\n1 "x y"\n\t"z" 2\n',
      { delimiter: ' ' },
      ['{"a":"1","b":"x y"}', '{"a":"z","b":"2"}'],
    ],
    ['a delimiter of two bytes', 'a§b\n1§"§"\n', { delimiter: '§' }, ['{"a":1,"b":"§"}']],
    ['a delimiter of four bytes', 'a😀b\n😀 "x"""\n', { delimiter: '😀' }, ['{"b":"x\\""}']],
    ['a delimiter that is a control character', 'a\u0001b\n1\u0001x\n', { delimiter: '\u0001' }, ['{"a":1,"b":"x"}']],
    [
      'a quoted delimiter that JSON escapes',
      'a\u0001b\n,\u0001,\n',
      { delimiter: '\u0001', quote: ',' },
      ['{"a":"\\u0001"}'],
    ],
    ['a delimiter that is usually the quote', 'a"b\n1"x\n', { delimiter: '"', quote: "'" }, ['{"a":1,"b":"x"}']],
    ['another quote', `a,b\n'x,''y\n"',6"\n`, { quote: "'" }, ['{"a":"x,\'y\\n\\"","b":"6\\""}']],
    ['a quote that means something in replacements', 'a\n$x$$y$\n', { quote: '$' }, ['{"a":"x$y"}']],
    ['a quote of two bytes', 'a,b\n«x,««y«,1\n', { quote: '«' }, ['{"a":"x,«y","b":1}']],
    ['no quote', 'a,b\n"x,y"\n \'z, "\n', { quote: 'none' }, ['{"a":"\\"x","b":"y\\""}', '{"a":" \'z","b":" \\""}']],
    [
      'an escape before a quote, and before itself',
      'a,b,c\n"x\\"y\\\\","\\"""",\\\n',
      backslash,
      ['{"a":"x\\"y\\\\","b":"\\"\\"","c":"\\\\"}'],
    ],
    [
      'an escape before anything else is text',
      'a,b\n"\\z\\,","\\\\\\""\n',
      backslash,
      ['{"a":"\\\\z\\\\,","b":"\\\\\\""}'],
    ],
    ['an escape that is the quote', 'a\n"x""y"\n', { escape: '"' }, ['{"a":"x\\"y"}']],
    ['an escape of two bytes', 'a\n"x§"y§§"\n', { escape: '§' }, ['{"a":"x\\"y§"}']],
    [
      'quotes in a cell',
      'name,size\nblue,6 x 5"\n5\'4",x"y"z\n"a""b", "c"\n',
      { lenient: true },
      ['{"name":"blue","size":"6 x 5\\""}', '{"name":"5\'4\\"","size":"x\\"y\\"z"}', '{"name":"a\\"b","size":"c"}'],
    ],
    [
      'lines before the header',
      'Station "report\nMade 2024-01-01\n\nyear,mean\n1959,315.98\n',
      { skipLines: 3 },
      ['{"year":1959,"mean":315.98}'],
    ],
    ['such lines that end in all ways', 'x\ry\r\nz\n\r\na\n1\n', { skipLines: 4 }, ['{"a":1}']],
    ['such a line behind a byte order mark', '\ufeffx\na\n1\n', { skipLines: 1 }, ['{"a":1}']],
    ['comments', '# "x\n\na,b\n#,,,\r1,2\n #,"#"\r\n#"', { comment: '#' }, ['{"a":"1","b":"2"}', '{"a":" #","b":"#"}']],
    [
      'a delimiter that counts more than the first line',
      'sep=;\na,b;c\n1,2\n',
      { delimiter: ',' },
      ['{"a":1,"b;c":2}'],
    ],
    [
      'a first line that names the delimiter, and no header',
      'sep=;\n1;2\n',
      { header: 'absent' },
      ['{"column_1":1,"column_2":2}'],
    ],
  ])('a form that a person names is read: %s', (_name, text, form, expected) => {
    expect(bodiesOf(readCells([text], { form }))).toEqual(expected);
    expect(bodiesOf(readCells(inBytes(text), { form }))).toEqual(expected);
  });

  test.each<[string, DelimitedForm, string]>([
    ['a\n"x"y"\n', { lenient: true }, 'rows[0].a: "\\"x\\"y" has something behind its closing quote'],
    ['a\nx"\n', backslash, 'rows[0].a: "x\\"" has a quote in it, but does not begin with one'],
    ['a\n"x\\"\n', backslash, 'rows[0].a: "\\"x\\\\\\"" begins with a quote that is never closed'],
    ["a;b\n1;'x\n", { quote: "'", delimiter: ';' }, 'rows[0].b: "\'x" begins with a quote that is never closed'],
    ['a\n1\n', { skipLines: 2 }, 'the body has no header: its first line must name the columns'],
    ['#a\n', { comment: '#' }, 'the body has no header: its first line must name the columns'],
    ['a\n1,\0\n', { quote: 'none' }, 'rows[0]: "\\u0000" has U+0000 in it, which cannot be stored'],
  ])('%j as %j is refused', (text, form, message) => {
    for (const chunks of [[text], inBytes(text)])
      expect(refusalOf(() => readCells(chunks, { form }))).toEqual({ type: 'request_validation_error', message });
  });
});

test.each<[DelimitedForm, string | null]>([
  [{}, null],
  [{ delimiter: ';', quote: "'", escape: '\\', comment: '#' }, null],
  [{ escape: '"' }, null],
  [{ delimiter: '"', quote: 'none' }, null],
  [{ quote: ',' }, 'quote: must not be the delimiter too'],
  [{ delimiter: '"' }, 'quote: must not be the delimiter too'],
  [{ escape: ',' }, 'escape: must not be the delimiter too'],
  [{ comment: '"' }, 'comment: must not be the quote too'],
  [{ comment: '\\', escape: '\\' }, 'comment: must not be the escape too'],
  [{ quote: ' ' }, 'quote: must not be a blank or a tab'],
  [{ escape: '\\', quote: 'none' }, 'escape: applies within quotes, and quote is none'],
])('the marks %j are in the conflict %j', (form, conflict) => {
  const found = conflictIn(form, ',');
  expect(found === null ? null : `${found.name}: ${found.reason}`).toBe(conflict);
});

test.each([
  ['tab', '\t'],
  ['\\t', '\t'],
  ['\t', '\t'],
  [' ', ' '],
  ['é', 'é'],
  ['', null],
  [',,', null],
  ['\n', null],
  ['\r', null],
  ['\0', null],
  ['\ufeff', null],
  ['\ufffd', null],
  ['\ud800', null],
  ['e\u0301', null],
])('the delimiter %j is %j', (text, mark) => {
  expect(delimiterOf(text)).toBe(mark);
  expect(isMark(text)).toBe(mark === text);
});
