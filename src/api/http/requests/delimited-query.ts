/**
 * The query parameters of requests that take CSV or TSV: the forms that a person can name (docs/spec/decisions.md 2,
 * "Forms of CSV and TSV").
 */
import { z } from 'zod';
import { columnType, boundedText, columnIdBytesMax, wholeText } from '../../../../commands/inputs.ts';
import { skipLinesMax, type DelimitedForm } from '../../../language/formats/delimited-form.ts';
import { dateFormats } from '../../../language/values/date-format.ts';
import { conflictIn, delimiterOf, isMark } from '../../../language/formats/dialect.ts';
import { HttpError } from '../answers/http-error.ts';
import { parseStrictly } from './json-parameter.ts';

function record<S extends z.ZodType>(
  key: z.ZodType<string>,
  value: S,
  jsonSchema: object,
  description: string,
  example: object,
) {
  return z
    .string()
    .transform((given, context): Readonly<Record<string, z.output<S>>> => {
      const object = objectIn(given);
      if (object === null) {
        context.addIssue({ code: 'custom', message: `must be a JSON object, such as ${JSON.stringify(example)}` });
        return z.NEVER;
      }
      // One by one: zod passes over the key `__proto__`, which is a column like any other.
      const members = Object.create(null) as Record<string, z.output<S>>;
      for (const [name, member] of Object.entries(object)) {
        const [named, result] = [key.safeParse(name), value.safeParse(member)];
        const issue = (named.error ?? result.error)?.issues[0];
        if (issue !== undefined) {
          context.addIssue({ code: 'custom', message: `${name}: ${issue.message}` });
          return z.NEVER;
        }
        members[name] = result.data as z.output<S>;
      }
      return members;
    })
    .optional()
    .meta({
      description,
      jsonSchema: {
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: { type: 'object', ...jsonSchema },
        examples: [example],
      },
    });
}

/** The object that the text is in JSON; null if it is none. */
function objectIn(given: string): object | null {
  try {
    const value = parseStrictly(given);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    // The text is no JSON, or is not read as strictly as bodies are.
    return null;
  }
}

/** The longest text that means an empty cell, in bytes, and how many of them there may be. */
const nullBytesMax = 256;
/** The longest name in a header that `columns` can give another one: as long as a display name may be. */
const headerNameBytesMax = 1024;
const nullsMax = 100;

/** The characters that a mark can be, as a part of a regular expression. */
const markPattern = '[^\\n\\r\\u0000\\u001a\\ufeff\\ufffd]';

function mark(description: string) {
  return z
    .string()
    .refine(isMark, 'must be one character')
    .optional()
    .meta({ description, jsonSchema: { type: 'string', pattern: `^${markPattern}$` } });
}

/** The parameters by name. They are refused beside a body that is neither CSV nor TSV. */
export const delimitedQuery = {
  header: z
    .enum(['present', 'absent'])
    .optional()
    .describe('Of CSV and TSV. `absent`: the first line is a row, and columns are `column_1`, `column_2` and so on.'),
  delimiter: z
    .string()
    .transform((given, context) => {
      const found = delimiterOf(given);
      if (found !== null) return found;
      context.addIssue({ code: 'custom', message: 'must be one character, or tab' });
      return z.NEVER;
    })
    .optional()
    .meta({
      description:
        'Of CSV and TSV. The one character between cells; a tab may be written `\\t` or `tab`. By default a comma for CSV, a tab for TSV, or what a first line such as `sep=;` says.',
      jsonSchema: { type: 'string', pattern: `^(?:${markPattern}|\\\\t|tab)$` },
    }),
  quote: z
    .string()
    .refine((given) => given === 'none' || isMark(given), 'must be one character, or none')
    .optional()
    .meta({
      description:
        'Of CSV and TSV. The one character around cells, by default `"`; `none`: no character is special within a cell.',
      jsonSchema: { type: 'string', pattern: `^(?:${markPattern}|none)$` },
    }),
  escape: mark(
    'Of CSV and TSV. The one character that stands before a quote, or before itself, in a quoted cell; usually a backslash. A quote may be doubled in any case.',
  ),
  lenient: z
    .enum(['true', 'false'])
    .transform((given) => given === 'true')
    .optional()
    .meta({
      description: 'Of CSV and TSV. `true`: a quote inside an unquoted cell is text.',
      jsonSchema: { type: 'boolean' },
    }),
  skipLines: z
    .string()
    .regex(/^[0-9]+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().max(skipLinesMax, `must be at most ${skipLinesMax}`))
    .optional()
    .meta({
      description: 'Of CSV and TSV. How many lines come before the header.',
      jsonSchema: { type: 'integer', minimum: 0, maximum: skipLinesMax },
    }),
  comment: mark('Of CSV and TSV. The one character that lines begin with which are no rows.'),
  columns: record(
    boundedText(headerNameBytesMax),
    boundedText(columnIdBytesMax),
    { additionalProperties: { type: 'string', minLength: 1, maxLength: columnIdBytesMax, pattern: wholeText } },
    'Of CSV and TSV: which column of the table a column of the file goes to, by its name in the header.',
    { 'Full name': 'name' },
  ),
  null: z
    .union([z.string(), z.array(z.string())])
    .transform((given) =>
      [given]
        .flat()
        .flatMap((part) => part.split(','))
        .filter((part) => part !== ''),
    )
    .pipe(z.array(boundedText(nullBytesMax)).min(1, 'must not be empty').max(nullsMax))
    .optional()
    .meta({
      description:
        'Of CSV and TSV: cells with exactly these texts are empty, unless they are quoted. A parameter for each, or several in one with commas between them.',
      jsonSchema: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: nullBytesMax, pattern: '^[^,\\u0000]*$' },
        minItems: 1,
        maxItems: nullsMax,
        examples: [['NA', 'NULL']],
      },
    }),
  decimal: z
    .enum(['.', ','])
    .optional()
    .describe(
      'Of CSV and TSV: the mark before the fraction of numbers. Thousands may be separated by a blank, an apostrophe, or the other mark.',
    ),
  dateFormat: z
    .enum(dateFormats)
    .optional()
    .describe(
      'Of CSV and TSV: how dates are written, besides `YYYY-MM-DD`: in this order, with a year of four digits. A time may follow.',
    ),
  types: record(
    boundedText(columnIdBytesMax),
    columnType,
    { additionalProperties: { $ref: '#/components/schemas/ColumnType' } },
    'Of CSV and TSV: the types of some columns, by their IDs in the table. Those of the others are inferred. IDs that the header does not have are passed over.',
    { zip: 'string' },
  ),
  duplicateColumns: z
    .literal('rename', 'must be "rename"')
    .optional()
    .meta({
      description: 'Of CSV and TSV. `rename`: of columns with one name in the header, the second becomes `<name>_2`.',
      jsonSchema: { type: 'string', enum: ['rename'] },
    }),
};

export type DelimitedQuery = z.output<z.ZodObject<typeof delimitedQuery>>;

/** The form that the query parameters of a request name. */
export function delimitedFormOf(query: DelimitedQuery): DelimitedForm {
  const given = Object.keys(delimitedQuery).flatMap((name) => {
    const value = query[name as keyof typeof delimitedQuery];
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(given) as DelimitedForm;
}

/** Throws HttpError for marks that cannot be beside each other. `usual`: the delimiter of the media type. */
export function refuseConflict(form: DelimitedForm, usual: string): void {
  const conflict = conflictIn(form, usual);
  if (conflict !== null) throw new HttpError('request_validation_error', `query.${conflict.name}: ${conflict.reason}.`);
}

/** Throws HttpError if a form was named for a body that has none. */
export function refuseForm(form: DelimitedForm): void {
  const [name] = Object.keys(form);
  if (name !== undefined)
    throw new HttpError('request_validation_error', `query.${name}: applies to CSV and TSV only.`);
}
