/** Random forms of CSV, and texts full of what matters in them. */
import { fc } from '../../../support/property.ts';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { conflictIn, dialectOf } from '../../../../src/language/formats/dialect.ts';

const mark = fc.constantFrom(',', ';', '\t', ' ', '"', "'", '\\', '#', 'é', '😀', '\u0001', '$', '_', '1', 'c');
/** What a person may say of a file. No two marks are in conflict. */
export const formsOfFiles = fc
  .record<DelimitedForm>(
    {
      delimiter: mark,
      quote: fc.oneof(mark, fc.constant('none')),
      escape: mark,
      lenient: fc.boolean(),
      comment: mark,
      header: fc.constantFrom('present', 'absent'),
    },
    { requiredKeys: [] },
  )
  .filter((form) => conflictIn(form, ',') === null);

/** A form, and a text full of its marks: most of them are wrong. */
export const wildInForms = formsOfFiles.chain((form) => {
  const { delimiter, quote, escape, comment } = dialectOf(form, ',');
  const quotes = quote ?? '"';
  const part = fc.constantFrom(
    'a',
    'ü',
    ' ',
    quotes,
    quotes,
    `${quotes}${quotes}`,
    delimiter,
    delimiter,
    '\n',
    '\r\n',
    '\r',
    '\0',
    '\\',
    escape ?? '1',
    escape ?? '"',
    comment ?? '#',
  );
  return fc
    .array(part, { maxLength: 24 })
    .map((parts) => ({ form, text: `a${delimiter}b${delimiter}d\n${parts.join('')}` }));
});
