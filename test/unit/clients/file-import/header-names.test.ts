/** What a chunk says of its columns, in its header and its URL (clients/file-import/header-names.ts). */
import { describe, expect, test } from '@jest/globals';
import { cutterFor } from '../../../../clients/file-import/cut-file.ts';
import { headerLineIn } from '../../../../clients/file-import/header-names.ts';
import { formParameters, type DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { dialectOf } from '../../../../src/language/formats/dialect.ts';
import { RecordSplitter } from '../../../../src/language/formats/record-splitter.ts';
import { fc } from '../../../support/property.ts';
import { readCells } from '../../language/formats/read-cells.ts';
import { formsOfFiles } from '../../language/formats/wild-forms.ts';
import { bodyOf, mistakeOf } from './cut-pieces.ts';

test('a line of cells reads back equal in any dialect that can write it', () => {
  const cell = fc.string({
    unit: fc.constantFrom('a', 'c', '1', '_', ' ', ',', '"', "'", '\\', '#', '$', '$&', '\n', '\r'),
  });
  let written = 0;
  fc.assert(
    fc.property(formsOfFiles, fc.array(cell, { minLength: 1, maxLength: 4 }), (form, cells) => {
      const dialect = dialectOf(form, ',');
      const line = headerLineIn(cells, dialect);
      if (line === null) {
        expect(dialect.quote).toBeNull();
        return;
      }
      written += 1;
      const splitter = new RecordSplitter(line, dialect);
      expect([splitter.read(0, true), splitter.isRecord, splitter.cells, splitter.end]).toEqual([
        true,
        true,
        cells,
        line.length,
      ]);
    }),
    { numRuns: 3_000 },
  );
  expect(written).toBeGreaterThan(0);
});

/** The IDs of the columns of each chunk, and the form that goes with the chunks. */
function cut(
  text: string,
  form: DelimitedForm,
  columns?: Readonly<Record<string, string>>,
): { readonly ids: readonly string[][]; readonly form: DelimitedForm; readonly texts: readonly string[] } {
  const cutter = cutterFor('csv', {
    form,
    limits: { rows: 1, bytes: 1000 },
    ...(columns !== undefined && { columnsOf: () => columns }),
  });
  const chunks = [...cutter.push(Buffer.from(text)), ...cutter.end()];
  const ids = chunks.map(({ body }) =>
    readCells([body], { form: cutter.form }).blocks[0]!.profile.columns.map(({ id }) => id),
  );
  return { ids, form: cutter.form, texts: chunks.map(bodyOf) };
}

describe('names that are display names of many columns', () => {
  const names = Array.from({ length: 2_000 }, (_, at) => `Column ${at}, "as it is shown", ${'x'.repeat(100)}`);
  const quoted = names.map((name) => `"${name.replaceAll('"', '""')}"`).join(',');
  const row = names.map((_, at) => at).join(',');

  test.each([
    { what: 'are written as the IDs', idOf: (at: number) => `c,"${at}`, rest: undefined },
    {
      what: 'are written as IDs in another normal form, which go with the chunks',
      idOf: (at: number) => (at === 7 ? 'e\u0301' : at === 8 ? '\u00e9' : `c${at}`),
      rest: { 'e\u0301': 'e\u0301' },
    },
  ])('long names $what', ({ idOf, rest }) => {
    const ids = names.map((_, at) => idOf(at));
    const columns = Object.fromEntries(names.map((name, at) => [name, ids[at]!]));
    for (const said of [
      { form: {}, columns },
      { form: { columns }, columns: undefined },
    ]) {
      const read = cut(`${quoted}\n${row}\n${row}\n`, said.form, said.columns);
      expect(read.ids).toEqual([ids, ids]);
      expect(read.form).toEqual(rest === undefined ? {} : { columns: rest });
    }
  });

  test.each<{ readonly what: string; readonly form: DelimitedForm }>([
    { what: 'types', form: { types: Object.fromEntries(names.map((name) => [name, 'string'])) } },
    // Without quotes, the header cannot have these IDs.
    {
      what: 'columns',
      form: { delimiter: ';', quote: 'none', columns: Object.fromEntries(names.map((name, at) => [name, `${at};`])) },
    },
  ])('are refused before a chunk is made if a URL has no room for $what', ({ what, form }) => {
    const header = what === 'types' ? quoted : names.join(';');
    expect(mistakeOf(() => cut(`${header}\n`, form))).toEqual([
      null,
      expect.stringMatching(new RegExp(`^its options \\(${what} above all\\) take \\d+ bytes in a URL`)),
    ]);
  });
});

describe('without a header, columns have their names whatever the marks are', () => {
  test.each<{ readonly form: DelimitedForm; readonly text: string }>([
    { form: { delimiter: '_', quote: 'none' }, text: 'x_y\nz\n' },
    { form: { delimiter: '1', quote: 'none' }, text: 'x1y\nz\n' },
    { form: { comment: 'c', quote: 'none' }, text: 'x,y\nc\nz\n' },
    { form: { comment: 'c' }, text: 'x,y\nc\nz\n' },
    { form: { quote: 'c' }, text: 'x,cyc\nz\n' },
    { form: { delimiter: 'o', quote: 'l', escape: 'm' }, text: 'xoy\nz\n' },
    { form: { decimal: ',', dateFormat: 'd.m.y', delimiter: ';', null: ['column_1'] }, text: 'x;y\nz\n' },
  ])('a file that is written with $form is cut', ({ form, text }) => {
    const said: DelimitedForm = {
      ...form,
      header: 'absent',
      types: { column_1: 'string' },
      columns: { column_2: 'b' },
    };
    const read = cut(text, said);
    expect(read.ids).toEqual([
      ['column_1', 'b'],
      ['column_1', 'b'],
    ]);
    expect(formParameters(read.form)).toMatchObject({ types: '{"column_1":"string"}' });
  });

  test('a line that is longer than the first one is refused, with its number', () => {
    const form: DelimitedForm = { header: 'absent', delimiter: '_', quote: 'none' };
    expect(mistakeOf(() => cut('x_y\n1_2_3\n', form))).toEqual([2, 'the line has 3 cells, the header 2']);
  });
});
