/** What the import preview offers for columns that are text because of some cells (console/src/import/remedies.ts). */
import { expect, test } from '@jest/globals';
import { preview, type Preview } from '../../../../clients/file-import/preview.ts';
import { sourceOfBlob } from '../../../../clients/file-import/source-of-blob.ts';
import { remediesOf, type Remedy } from '../../../../console/src/import/remedies.ts';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';

function previewOf(cells: readonly string[], form: DelimitedForm = {}): Promise<Preview> {
  const file = new File([`c;d\n${cells.map((cell) => `${cell};x\n`).join('')}`], 'a.csv');
  return preview(sourceOfBlob(file), {
    format: 'csv',
    encoding: 'utf-8',
    onSchemaError: 'abort',
    signal: new AbortController().signal,
    form,
  });
}

test.each<[cells: string[], remedies: Omit<Remedy, 'isWhole'>[]]>([
  [['36', 'NA', '4'], [{ label: 'Read NA as empty', form: { null: ['NA'] } }]],
  [
    ['1', '-', '2', 'NA', '3', 'NULL', '4', '-', '5'],
    [{ label: 'Read -, NA, NULL as empty', form: { null: ['-', 'NA', 'NULL'] } }],
  ],
  [['1', 'closed', '2', 'closed'], [{ label: 'Read closed as empty', form: { null: ['closed'] } }]],
  [['1', 'about 8', '2'], []],
  [['1.234,50', '7,25', '3'], [{ label: 'Read 1.234,50 as 1234.50', form: { decimal: ',' } }]],
  [['1,5', 'NA', '2,5'], [{ label: 'Read 1,5 as 1.5, and NA as empty', form: { decimal: ',', null: ['NA'] } }]],
  [
    ['1,234', '5,678'],
    [
      { label: 'Read 1,234 as 1234', form: { decimal: '.' } },
      { label: 'Read 1,234 as 1.234', form: { decimal: ',' } },
    ],
  ],
  [['31.12.2024', '01.02.2024'], [{ label: 'Read 31.12.2024 as 2024-12-31', form: { dateFormat: 'd.m.y' } }]],
  [['12/31/2024', '01/02/2024'], [{ label: 'Read 12/31/2024 as 2024-12-31', form: { dateFormat: 'm/d/y' } }]],
  [
    ['03/04/2024'],
    [
      { label: 'Read 03/04/2024 as 2024-04-03', form: { dateFormat: 'd/m/y' } },
      { label: 'Read 03/04/2024 as 2024-03-04', form: { dateFormat: 'm/d/y' } },
    ],
  ],
  [['2024-03-01', 'soon', '2024-03-02'], [{ label: 'Read soon as empty', form: { null: ['soon'] } }]],
])('the cells %j have their remedies', async (cells, remedies) => {
  const { columns, texts } = await previewOf(cells);
  expect([columns[0]!.type, texts.map(({ id }) => id)]).toEqual(['string', ['c']]);
  expect(remediesOf(texts[0]!)).toEqual(remedies.map((remedy) => ({ ...remedy, isWhole: true })));
  // What is offered helps.
  for (const { form } of remedies) {
    const helped = await previewOf(cells, form);
    expect(helped.texts).toEqual([]);
    expect(helped.columns[0]!.type).not.toBe('string');
  }
});

test('a remedy for only some of the cells is offered as such', async () => {
  const { texts } = await previewOf(['1', '2', 'NA', 'about 8', '3']);
  expect(remediesOf(texts[0]!)).toEqual([{ label: 'Read NA as empty', form: { null: ['NA'] }, isWhole: false }]);
});
