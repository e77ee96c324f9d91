/**
 * The query parameters of requests that take CSV or TSV: the variants of these formats that a person can name
 * (docs/spec/decisions.md 2, "Forms of CSV and TSV").
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
      // One by one, because zod skips the key `__proto__`, which is a column like any other.
      const members = Object.create(null) as Record<string, z.output<S>>;
      for (const [name, member] of Object.entries(object)) {
        const [named, result] = [key.safeParse(name), value.safeParse(member)];
        const issue = (named.error ?? result.error)?.issues[0];
        if (issue !== undefined) {
          context.addIssue({ code: 'custom', message: `${name === '' ? '""' : name}: ${issue.message}` });
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
        contentSchema: { type: 'object', propertyNames: { minLength: 1, pattern: wholeText }, ...jsonSchema },
        examples: [example],
      },
    });
}

/** The object that the text has in JSON; null if it has none. */
function objectIn(given: string): object | null {
  try {
    const value = parseStrictly(given);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    // The text is no JSON, or breaks a rule that bodies must follow too.
    return null;
  }
}

/** Limits of `null`: bytes of a text that means an empty cell, and the number of such texts (`nullsMax`). */
const nullBytesMax = 256;
/** Maximum bytes of a header name in `columns`: as many as a display name may have. */
const headerNameBytesMax = 1024;
const nullsMax = 100;

/** The characters that a mark may be, as a part of a regular expression. */
const markPattern = '[^\\n\\r\\u0000\\u001a\\ufeff\\ufffd]';

function mark(description: string) {
  return z
    .string()
    .refine(isMark, 'must be one character')
    .optional()
    .meta({ description, jsonSchema: { type: 'string', pattern: `^${markPattern}$` } });
}

/** The parameters by name. They are refused with a body that is neither CSV nor TSV. */
export const delimitedQuery = {
  header: z
    .enum(['present', 'absent'])
    .optional()
    .describe(
      'For CSV and TSV. `absent`: the first line is a row, and the columns are `column_1`, `column_2` and so on.',
    ),
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
        'For CSV and TSV. The character between cells; write a tab as `\\t` or `tab`. By default a comma for CSV and a tab for TSV, unless a first line such as `sep=;` names another one.',
      jsonSchema: { type: 'string', pattern: `^(?:${markPattern}|\\\\t|tab)$` },
    }),
  quote: z
    .string()
    .refine((given) => given === 'none' || isMark(given), 'must be one character, or none')
    .optional()
    .meta({
      description:
        'For CSV and TSV. The character around cells, by default `"`. `none`: no character is special within a cell.',
      jsonSchema: { type: 'string', pattern: `^(?:${markPattern}|none)$` },
    }),
  escape: mark(
    'For CSV and TSV. The character before a quote, or before itself, in a quoted cell; usually a backslash. A quote may also be doubled.',
  ),
  lenient: z
    .enum(['true', 'false'])
    .transform((given) => given === 'true')
    .optional()
    .meta({
      description: 'For CSV and TSV. `true`: a quote inside an unquoted cell is text.',
      jsonSchema: { type: 'boolean' },
    }),
  skipLines: z
    .string()
    .regex(/^[0-9]+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().max(skipLinesMax, `must be at most ${skipLinesMax}`))
    .optional()
    .meta({
      description: 'For CSV and TSV. How many lines to skip before the header.',
      jsonSchema: { type: 'integer', minimum: 0, maximum: skipLinesMax },
    }),
  comment: mark('For CSV and TSV. Lines that begin with this character are ignored.'),
  columns: record(
    boundedText(headerNameBytesMax),
    boundedText(columnIdBytesMax),
    { additionalProperties: { type: 'string', minLength: 1, maxLength: columnIdBytesMax, pattern: wholeText } },
    'For CSV and TSV: the ID of the column in the table, for columns of the file by their name in the header.',
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
        'For CSV and TSV: unquoted cells with exactly these texts are empty. Repeat the parameter, or separate texts by commas.',
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
      'For CSV and TSV: the decimal separator of numbers. Thousands may be separated by a blank, an apostrophe, or the other mark.',
    ),
  dateFormat: z
    .enum(dateFormats)
    .optional()
    .describe(
      'For CSV and TSV: the order of day, month and year in dates, with a year of four digits. A time may follow. Dates like `YYYY-MM-DD` are always read.',
    ),
  types: record(
    boundedText(columnIdBytesMax),
    columnType,
    { additionalProperties: { $ref: '#/components/schemas/ColumnType' } },
    'For CSV and TSV: the types of some columns, by their IDs in the table. The types of other columns are inferred. IDs that are not in the header are ignored.',
    { zip: 'string' },
  ),
  duplicateColumns: z
    .literal('rename', 'must be "rename"')
    .optional()
    .meta({
      description:
        'For CSV and TSV. `rename`: if a name occurs twice in the header, the second column becomes `<name>_2`.',
      jsonSchema: { type: 'string', enum: ['rename'] },
    }),
};

export type DelimitedQuery = z.output<z.ZodObject<typeof delimitedQuery>>;

/** The form of the body that the query parameters name. */
export function delimitedFormOf(query: DelimitedQuery): DelimitedForm {
  const given = Object.keys(delimitedQuery).flatMap((name) => {
    const value = query[name as keyof typeof delimitedQuery];
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(given) as DelimitedForm;
}

/** Throws HttpError for marks that contradict each other. `usual`: the delimiter of the media type. */
export function refuseConflict(form: DelimitedForm, usual: string): void {
  const conflict = conflictIn(form, usual);
  if (conflict !== null) throw new HttpError('request_validation_error', `query.${conflict.name}: ${conflict.reason}.`);
}

/** Throws HttpError if the parameters name a form for a body that is neither CSV nor TSV. */
export function refuseForm(form: DelimitedForm): void {
  const [name] = Object.keys(form);
  if (name !== undefined)
    throw new HttpError('request_validation_error', `query.${name}: applies to CSV and TSV only.`);
}
