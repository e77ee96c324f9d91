/**
 * Workbooks as other programs write them, and what is wrong with some. The fixtures are from openpyxl
 * (test/fixtures/workbooks/make.py).
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { BlobWriter, TextReader, ZipWriter } from '@zip.js/zip.js';
import { lineOfRow } from '../../../../clients/file-import/chunk.ts';
import { sourceOfBlob } from '../../../../clients/file-import/source-of-blob.ts';
import { Archive } from '../../../../clients/file-import/workbook/archive.ts';
import { momentFormatOf, momentText } from '../../../../clients/file-import/workbook/moments.ts';
import { WorkbookCutter } from '../../../../clients/file-import/workbook/workbook-cutter.ts';

interface Read {
  readonly text: string;
  readonly lines: readonly number[];
  readonly notes: readonly string[];
}

async function read(
  content: Uint8Array<ArrayBuffer> | Blob,
  sheet: string | null = null,
  limits?: { rows: number; bytes: number },
): Promise<Read> {
  const cutter = new WorkbookCutter({ sheet, limits });
  const chunks = await Array.fromAsync(
    cutter.cut(sourceOfBlob(new File([content], 'book.xlsx')), new AbortController().signal),
  );
  return {
    text: chunks.map(({ body }) => body.toString()).join('--\n'),
    lines: chunks.flatMap(({ rows, lines }) => Array.from({ length: rows }, (_, row) => lineOfRow(lines, row))),
    notes: cutter.notes,
  };
}

const fixture = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await readFile(join(import.meta.dirname, '../../../fixtures/workbooks', name)));

const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
const relations = (...all: readonly (readonly [id: string, kind: string, target: string])[]): string =>
  `${declaration}<Relationships>${all
    .map(
      ([id, kind, target]) =>
        `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${kind}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`;

/** A workbook with these rows in its only sheet. `behind`: what its part has behind the rows. */
async function workbookOf(
  rows: string,
  {
    parts = {},
    texts = '',
    behind = '',
  }: { readonly parts?: Readonly<Record<string, string>>; readonly texts?: string; readonly behind?: string } = {},
): Promise<Blob> {
  const writer = new ZipWriter(new BlobWriter(), { useWebWorkers: false });
  const all = {
    '_rels/.rels': relations(['r1', 'officeDocument', '/xl/workbook.xml']),
    'xl/workbook.xml': `${declaration}<x:workbook xmlns:x="m" xmlns:r="r"><x:sheets><x:sheet name="One" sheetId="1" r:id="s1"/></x:sheets></x:workbook>`,
    'xl/_rels/workbook.xml.rels': relations(
      ['s1', 'worksheet', 'worksheets/Sheet1.xml'],
      ['s2', 'sharedStrings', 'sharedStrings.xml'],
    ),
    'xl/sharedStrings.xml': `${declaration}<sst>${texts}</sst>`,
    // Some programs do not agree with themselves on case.
    'xl/worksheets/sheet1.xml': `${declaration}<worksheet><sheetData>${rows}</sheetData>${behind}</worksheet>`,
    ...parts,
  };
  for (const [name, text] of Object.entries(all)) await writer.add(name, new TextReader(text));
  return writer.close();
}

/** An archive whose directory has so many parts of one name, and no content. */
function archiveOf(parts: number, name: string): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(name);
  const entry = Buffer.alloc(46 + text.length);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(20, 6);
  entry.writeUInt16LE(text.length, 28);
  text.copy(entry, 46);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(parts, 8);
  end.writeUInt16LE(parts, 10);
  end.writeUInt32LE(parts * entry.length, 12);
  // The directory is behind the head of a part, by which the archive is recognised.
  const head = Buffer.from('PK\x03\x04'.padEnd(30, '\0'), 'latin1');
  end.writeUInt32LE(head.length, 16);
  return new Uint8Array(Buffer.concat([head, ...Array.from({ length: parts }, () => entry), end]));
}

test('a sheet yields the values that were saved, and the numbers of its rows', async () => {
  const people = await fixture('people.xlsx');
  const rows = [
    'id,name,born,seen,at,spent,score,ok,sum,error,big\n',
    '1,"Ada, ""the first""",1915-12-10,2024-12-31T10:00:00,09:30:00,PT36H30M,0.3,true,2,,9007199254740992\n',
    '2,"two\nlines",2024-12-31,2024-12-31T10:00:00.250,23:59:59,,1e-7,false,4,,12\n',
    '3,"plain, bold",1900-01-01,1900-03-01T00:00:00,,,-4.5,,,,\n',
    '4,"  00501 äöü 😀 ",,9999-12-31T23:59:59,,,,,,,\n',
  ] as const;
  const notes = [
    'of 4 sheets only "People & Co" is read; the others are "hidden" (hidden), "Other", "empty"',
    '2 cells with errors of formulas are empty: #DIV/0! in J2',
  ];
  expect(await read(people)).toEqual({ text: rows.join(''), lines: [2, 3, 4, 6], notes });
  const [header, ...others] = rows;
  expect(await read(people, null, { rows: 1, bytes: 1000 })).toEqual({
    text: others.map((row) => header + row).join('--\n'),
    lines: [2, 3, 4, 6],
    notes,
  });
  expect(await read(people, 'other')).toEqual({ text: 'n,text\n1,"second sheet"\n', lines: [2], notes: [] });
  expect((await read(await fixture('since-1904.xlsx'))).text).toBe('day\n2024-02-29\n');
});

test('cells of every kind are read', async () => {
  const book = await workbookOf(
    `
    <row><c t="inlineStr"><is><t>a</t></is></c><c t="s"><v>0</v></c><c/></row>
    <row r="4" spans="1:3"><c r="A4"><v>9007199254740993</v></c><c r="C4" t="str"><f>1</f><v>x_x000D_y &amp; z</v></c></row>
    <row r="7"><c r="B7"><v>0.10000000000000001</v></c></row><row/>
    <row r="9"><c r="A9"><v>1.7976931348623157E+308</v></c><c r="B9" t="b"><v>0</v></c><c r="C9" t="d"><v>2024-12-31T10:00:00</v></c></row>
    <row r="10"><c r="A10" t="e"><v>#N/A</v></c><c r="AB10"><v>-0</v></c></row>
  `,
    { texts: '<si><t xml:space="preserve">b </t><rPh sb="0" eb="1"><t>spoken</t></rPh></si>' },
  );
  expect(await read(book)).toEqual({
    text: `a,"b "\n9007199254740993,,"x\ry & z"\n,0.1\n1.7976931348623157e+308,false,2024-12-31T10:00:00\n${','.repeat(27)}0\n`,
    lines: [4, 7, 9, 10],
    notes: ['a cell with the error of a formula is empty: #N/A in A10'],
  });
});

test('empty values and unusual spellings are read', async () => {
  const book = await workbookOf(
    `
    <row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c><c t="inlineStr"><is><t>c</t></is></c></row>
    <row><c><v/></c><c><v> </v></c><c t="s"><v> </v></c></row>
    <row><c><v> 7 </v></c><c t="b"><v> 1</v></c><c t="s"><v> 0 </v></c></row>
    <row><c><v>+1.50E+2</v></c><c t="b"><v>false</v></c><c t="b"><v></v></c></row>
    <row><c><is><t>no type</t></is></c><c t="inlineStr"><v>as value</v></c><c t="n"/></row>
  `,
    { texts: '<si><t>shared</t></si>', behind: '<controls><from><row>3</row><c>1</c></from></controls>' },
  );
  expect((await read(book)).text).toBe('a,b,c\n7,true,shared\n150,false,\n"no type","as value",\n');
});

test('names of parts may have escaped characters, such as %20', async () => {
  const sheet = `${declaration}<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>`;
  for (const [target, part] of [
    ['worksheets/sheet%201.xml', 'xl/worksheets/sheet 1.xml'],
    ['worksheets/Blätter.xml', 'xl/worksheets/bl%C3%A4tter.xml'],
    ['worksheets/100%.xml', 'xl/worksheets/100%.xml'],
  ] as const) {
    const parts = { 'xl/_rels/workbook.xml.rels': relations(['s1', 'worksheet', target]), [part]: sheet };
    expect((await read(await workbookOf('', { parts }))).text).toBe('1\n');
  }
});

test('relations to missing parts are an error only if the part is needed', async () => {
  const parts = {
    'xl/workbook.xml': `${declaration}<workbook><sheets>${['One', 'Lost', 'Away'].map((name, at) => `<sheet name="${name}" id="s${at + 1}"/>`).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(
      ['s1', 'worksheet', 'worksheets/Sheet1.xml'],
      ['s2', 'worksheet', 'http://['],
      ['s3', 'worksheet', 'file:///etc/passwd'],
    ),
  };
  const book = await workbookOf('<row><c><v>1</v></c></row>', { parts });
  expect((await read(book)).text).toBe('1\n');
  for (const name of ['Lost', 'Away'])
    await expect(read(book, name)).rejects.toMatchObject({
      reason: `the workbook does not say where its sheet "${name}" is`,
    });
});

test('a workbook with very many sheets names some of them', async () => {
  const sheets = Array.from({ length: 30 }, (_, at) => `<sheet name="S${at}" state="hidden" id="s1"/>`).join('');
  const parts = { 'xl/workbook.xml': `${declaration}<workbook><sheets>${sheets}</sheets></workbook>` };
  const { notes } = await read(await workbookOf('<row><c><v>1</v></c></row>', { parts }));
  expect(notes).toEqual([
    expect.stringMatching(/^of 30 sheets only "S0" \(hidden\) is read; the others are "S1" \(hidden\), .* and 9 more$/),
  ]);
});

test('texts that mean an empty cell are empty, whatever characters they have', async () => {
  const book = await workbookOf(
    '<row><c t="inlineStr"><is><t>NA</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row><row><c t="inlineStr"><is><t>not known</t></is></c><c t="inlineStr"><is><t>NA</t></is></c></row>',
  );
  const cutter = new WorkbookCutter({ sheet: null, form: { null: ['NA', 'not known'] } });
  const chunks = await Array.fromAsync(
    cutter.cut(sourceOfBlob(new File([book], 'book.xlsx')), new AbortController().signal),
  );
  expect(chunks.map(({ body }) => body.toString())).toEqual(['NA,b\n,\n']);
});

test('conditional formats do not apply to cells', async () => {
  const styles = `${declaration}<styleSheet><cellXfs><xf numFmtId="0"/></cellXfs><dxfs><dxf><numFmt numFmtId="0" formatCode="yyyy"/></dxf></dxfs></styleSheet>`;
  const book = await workbookOf(
    '<row><c t="inlineStr"><is><t>n</t></is></c></row><row><c s="0"><v>1234</v></c></row>',
    {
      parts: {
        'xl/styles.xml': styles,
        'xl/_rels/workbook.xml.rels': relations(
          ['s1', 'worksheet', 'worksheets/Sheet1.xml'],
          ['s3', 'styles', 'styles.xml'],
        ),
      },
    },
  );
  expect((await read(book)).text).toBe('n\n1234\n');
});

describe('an invalid workbook', () => {
  const one = '<row><c t="inlineStr"><is><t>a</t></is></c></row>';
  const bytes = async (book: Promise<Blob>): Promise<Uint8Array<ArrayBuffer>> =>
    new Uint8Array(await (await book).arrayBuffer());
  test.each<readonly [string, () => Promise<Blob | Uint8Array<ArrayBuffer>>, number | null, string]>([
    ['a text', async () => new TextEncoder().encode('a,b'), null, 'this is not a workbook'],
    [
      'an old workbook',
      async () => Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0),
      null,
      'protected with a password',
    ],
    [
      'half of one',
      async () => (await bytes(workbookOf(one))).slice(0, -200),
      null,
      'this is not a valid workbook (.xlsx)',
    ],
    [
      'another archive',
      async () => workbookOf(one, { parts: { '_rels/.rels': relations(), 'xl/workbook.xml': '' } }),
      null,
      'is not valid XML',
    ],
    ['an empty sheet', async () => workbookOf(''), 1, 'the sheet is empty'],
    [
      'a text that the workbook does not have',
      async () => workbookOf(`${one}<row><c t="s"><v>7</v></c></row>`),
      2,
      'the shared text 7',
    ],
    ['rows out of order', async () => workbookOf('<row r="3"/><row r="2"/>'), null, 'a row 2 after row 3'],
    ['cells out of order', async () => workbookOf('<row><c r="B1"/><c r="A1"/></row>'), 1, 'a cell A1 after column 2'],
    ['a row beyond the last', async () => workbookOf('<row r="1048577"/>'), null, 'a row 1048577'],
    [
      'a value beyond the last column',
      async () => workbookOf(`${one}<row><c r="BXY2"><v>1</v></c></row>`),
      2,
      'a row must not have more than 2000 columns: BXY2 has a value',
    ],
    [
      'a row of long texts that are shared',
      async () =>
        workbookOf(`${one}<row>${'<c t="s"><v>0</v></c>'.repeat(2_000)}</row>`, {
          texts: `<si><t>${'x'.repeat(1_000_000)}</t></si>`,
        }),
      2,
      'a row must not be longer than 524288 bytes',
    ],
    [
      'a text in many parts',
      async () => workbookOf(one, { texts: `<si>${`<r><t>${'x'.repeat(1_000)}</t></r>`.repeat(1_100)}</si>` }),
      null,
      'a text of more than 1048576 characters',
    ],
    [
      'a value in many parts',
      async () => workbookOf(`<row><c><v>${`${'1'.repeat(1_000)}<b/>`.repeat(1_100)}</v></c></row>`),
      null,
      'a text of more than 1048576 characters',
    ],
    ['tags within tags', async () => workbookOf('<a>'.repeat(300)), null, 'more than 256 nested tags'],
    [
      'more sheets than anybody has',
      async () =>
        workbookOf(one, {
          parts: {
            'xl/workbook.xml': `${declaration}<workbook><sheets>${'<sheet name="S" id="s1"/>'.repeat(10_001)}</sheets></workbook>`,
          },
        }),
      null,
      'more than 10000 sheets',
    ],
    ['more parts than anybody has', async () => archiveOf(10_001, 'part'), null, 'more than 10000 parts'],
    ['very long names of parts', async () => archiveOf(100, 'x'.repeat(60_000)), null, 'very long names'],
    ['two values', async () => workbookOf(`${one}<row><c><v>1</v><v>2</v></c></row>`), 2, 'A2 has several values'],
    [
      'a truth that is none',
      async () => workbookOf(`${one}<row><c t="b"><v>2</v></c></row>`),
      2,
      '"2", which is neither true nor false',
    ],
    [
      'a number of another kind',
      async () => workbookOf(`${one}<row><c><v>0x10</v></c></row>`),
      2,
      '"0x10", which is not a',
    ],
    [
      'a shared text that has no number',
      async () => workbookOf(`${one}<row><c t="s"><v>1e0</v></c></row>`, { texts: '<si/><si/>' }),
      2,
      'the shared text 1e0',
    ],
    [
      'a number that is none',
      async () => workbookOf(`${one}<row><c><v>x</v></c></row>`),
      2,
      '"x", which is not a number',
    ],
    [
      'a long row',
      async () => workbookOf(`${one}<row><c t="inlineStr"><is><t>${'x'.repeat(600_000)}</t></is></c></row>`),
      2,
      'a row must not be longer',
    ],
    [
      'a text without an end',
      async () => workbookOf(`<row><c t="inlineStr"><is><t>${'x'.repeat(9_000_000)}</t></is></c></row>`),
      null,
      'a text that is too long',
    ],
    [
      'a text that stands for a longer one',
      async () =>
        workbookOf('', {
          parts: { 'xl/worksheets/sheet1.xml': '<!DOCTYPE w [<!ENTITY a "aaaa">]><worksheet>&a;</worksheet>' },
        }),
      null,
      'is not valid XML',
    ],
    [
      'formats beyond measure',
      async () =>
        workbookOf(one, {
          parts: {
            'xl/_rels/workbook.xml.rels': relations(
              ['s1', 'worksheet', 'worksheets/sheet1.xml'],
              ['s3', 'styles', 'styles.xml'],
            ),
            'xl/styles.xml': `<a>${'<b/>'.repeat(5_000_000)}</a>`,
          },
        }),
      null,
      'the workbook is too large: its part xl/styles.xml',
    ],
  ])('a workbook is refused: %s', async (_what, book, line, reason) => {
    await expect(read(await book())).rejects.toMatchObject({ line, reason: expect.stringContaining(reason) });
  });

  test('is refused if a part grows hundreds of times when it is unpacked', async () => {
    const writer = new ZipWriter(new BlobWriter(), { useWebWorkers: false });
    const zeros = new Uint8Array(2 ** 20);
    let left = 66;
    const bomb = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- > 0 ? controller.enqueue(zeros) : controller.close()),
    });
    await writer.add('bomb', bomb);
    const archive = await Archive.open(await writer.close());
    const text = archive.text('bomb', 'sheet', new AbortController().signal);
    await expect(Array.fromAsync(text, ({ length }) => length)).rejects.toMatchObject({
      reason: 'the workbook is too large: its part bomb is more than 500 times as large when it is unpacked',
    });
    await archive.close();
  });

  test('is refused for a long cell, unless the service drops it', async () => {
    const book = await workbookOf(`${one}<row><c t="inlineStr"><is><t>${'x'.repeat(300_000)}</t></is></c></row>`);
    const cut = (refusesLongCells: boolean) =>
      Array.fromAsync(
        new WorkbookCutter({ sheet: null, refusesLongCells }).cut(
          sourceOfBlob(new File([book], 'book.xlsx')),
          new AbortController().signal,
        ),
      );
    await expect(cut(true)).rejects.toMatchObject({
      line: 2,
      reason: 'cell 1: a cell must not be longer than 262144 bytes',
    });
    expect((await cut(false)).map(({ rows }) => rows)).toEqual([1]);
  });

  test('gives a caller that stops it the reason', async () => {
    const stopping = new AbortController();
    const chunks = new WorkbookCutter({ sheet: null, limits: { rows: 1, bytes: 1 } }).cut(
      sourceOfBlob(new File([await fixture('people.xlsx')], 'people.xlsx')),
      stopping.signal,
    );
    stopping.abort(new Error('stopped'));
    await expect(chunks.next()).rejects.toThrow('stopped');
  });
});

test.each<readonly [number, string | undefined, string | null]>([
  [0, undefined, null],
  [14, undefined, 'date'],
  [22, undefined, 'dateTime'],
  [49, undefined, null],
  [164, 'General', null],
  [164, '#,##0.00 "Tag"', null],
  [164, '0.00E+00', null],
  [164, '[Red]0;[Blue]-0', null],
  [164, 'yyyy-mm-dd', 'date'],
  [164, 'd. mmm', 'date'],
  [164, 'mmm', 'date'],
  [164, 'mm:ss', 'time'],
  [164, 'h:mm AM/PM', 'time'],
  [164, 'dd/mm/yyyy\\ hh:mm', 'dateTime'],
  [164, '[h]:mm:ss', 'elapsed'],
  [164, '[$-F800]dddd, mmmm dd, yyyy', 'date'],
  [164, '[$€-407] #,##0', null],
  [164, '0" days"', null],
  [164, '_-* #,##0.00_-;d', null],
  [164, 'ge.m.d', 'date'],
  [164, '#,##0 EUR', null],
  [164, '0.0 m', null],
  [164, 'Standard', null],
  [164, 'mm:ss.00', 'time'],
  [164, 'hh:mm:ss,000', 'time'],
  [164, '?0 d', null],
  [164, 'Estándar', null],
  [164, 'Général', null],
  [164, 'Standaard', null],
  [164, 'Yleinen', null],
  [164, 'Genel', null],
  [164, 'Основной', null],
  [164, 'G/通用格式', null],
  [164, 'G/標準" kg"', null],
  [164, 'General" yd"', null],
  [164, 'TT.MM.JJJJ', null],
  [164, '@', null],
  [164, '"day" 0', null],
  [164, '\\d\\a\\y', null],
  [164, '"unclosed yyyy', null],
  [164, '[Red][$-409]"d"', null],
  [164, '0%', null],
  [164, '"Stand:" dd.mm.yyyy', 'date'],
  [164, '[$-419]d\\ mmm\\ yyyy\\ "г.";@', 'date'],
  [164, 'yyyy年m月d日', 'date'],
  [164, 'B2yyyy/mm/dd', 'date'],
  [164, 'aaaa', 'date'],
  [164, 'mmm h:mm', 'dateTime'],
  [164, 'm/d h', 'dateTime'],
  [164, 'yyyy-mm-ddThh:mm:ssZ', 'dateTime'],
  [164, '[$-F400]h:mm:ss\\ AM/PM', 'time'],
  [164, '上午/下午h"时"mm"分"', 'time'],
  [164, '[mm]:ss.0', 'elapsed'],
])('format %s %s shows %s', (id, code, kind) => {
  expect(momentFormatOf(id, code)).toBe(kind);
});

test.each<readonly [number, Parameters<typeof momentText>[1], 1900 | 1904, string | null]>([
  [1, 'date', 1900, '1900-01-01'],
  [59, 'date', 1900, '1900-02-28'],
  [60, 'date', 1900, null],
  [61, 'date', 1900, '1900-03-01'],
  [0, 'date', 1900, null],
  [0, 'date', 1904, '1904-01-01'],
  [2958465, 'date', 1900, '9999-12-31'],
  [2958466, 'date', 1900, null],
  [45657.5, 'date', 1900, '2024-12-31T12:00:00'],
  [45657, 'dateTime', 1900, '2024-12-31T00:00:00'],
  [45657.999999999, 'dateTime', 1900, '2025-01-01T00:00:00'],
  [0.5, 'time', 1900, '12:00:00'],
  [45657.25, 'time', 1900, '2024-12-31T06:00:00'],
  [1.5, 'elapsed', 1900, 'PT36H'],
  [0, 'elapsed', 1900, 'PT0S'],
  [-1, 'date', 1900, null],
  [1e300, 'date', 1900, null],
])('day %s as %s since %s is %s', (serial, format, epoch, text) => {
  expect(momentText(serial, format, epoch)).toBe(text);
});
