/** Input schemas that several commands share. */
import { z } from 'zod';
import type { RowLimits } from '../src/language/events/limits.ts';
import type { RowSource } from '../src/language/events/row-source.ts';
import { arrayOf, scalarKinds, type ColumnType } from '../src/language/values/column-type.ts';
import { describeMisfit } from '../src/language/values/describe-misfit.ts';
import type { GivenColumn } from '../src/language/values/table-schema.ts';
import { InvalidRequest } from './invalid-request.ts';

/** A regular expression of texts without U+0000, for JSON Schemas. */
export const wholeText = '^[^\\u0000]*$';

/** The longest ID of a column, in bytes. */
export const columnIdBytesMax = 256;

/** Text that Postgres can hold: well-formed Unicode without U+0000 (docs/spec/decisions.md 2). */
export function boundedText(bytesMax: number) {
  return z
    .string()
    .min(1, 'must not be empty')
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed Unicode without U+0000')
    .refine((value) => Buffer.byteLength(value) <= bytesMax, `must have at most ${bytesMax} bytes`)
    .meta({ maxLength: bytesMax, pattern: wholeText });
}

export const tableName = boundedText(1024);

/** The name under which a column is shown. */
export const displayName = boundedText(1024);

export const appId = boundedText(256);

/** Decisions 3: repeated keys or comma-separated. */
export const appIdsQuery = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat().flatMap((part) => part.split(',')))
  .pipe(z.array(appId).max(1000))
  .meta({
    description: 'The apps to link the table to: a parameter for each, or several in one with commas between them.',
    jsonSchema: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[^,\\u0000]*$' },
      maxItems: 1000,
    },
  });

export const appIds = z.array(appId).max(1000).describe('The apps to link the table to.');

export const onSchemaError = z
  .enum(['abort', 'dropColumns', 'updateSchema'])
  .default('abort')
  .describe(
    'What happens to cells that do not fit the schema. `abort`: the request is refused. ' +
      '`dropColumns`: the cells are dropped; so are cells that no row may hold, ' +
      'because their text is too long or not well-formed. ' +
      '`updateSchema`: columns are added or their types widened, so that all cells fit.',
  );

/** Some clients send `url` for `uri`. */
const scalarKind = z.enum([...scalarKinds, 'url']).transform((kind) => (kind === 'url' ? 'uri' : kind));

/** Spec section 2: a name, `{kind}`, or `{kind: "array", items: {kind}}`. */
export const columnType = z
  .union(
    [
      scalarKind,
      z.strictObject({ kind: scalarKind }).transform(({ kind }): ColumnType => kind),
      z
        .strictObject({ kind: z.literal('array'), items: z.strictObject({ kind: scalarKind }) })
        .transform(({ items }): ColumnType => arrayOf(items.kind)),
    ],
    {
      error: `must be a type, {kind: type} or {kind: "array", items: {kind: type}}, where type is one of ${scalarKinds.join(', ')}`,
    },
  )
  .meta({ id: 'ColumnType', description: 'A scalar type, or an array of one. `url` is another name of `uri`.' });

/** As many columns as a key may have. */
const keyColumnsMax = 16;

export const tableKey = z.array(boundedText(columnIdBytesMax)).min(1, 'must name a column').max(keyColumnsMax).meta({
  id: 'TableKey',
  description:
    'The IDs of columns: no two rows may have equal values in all of them. Rows in which one of them is empty are not compared.',
});

/** A column of a new schema, or a new column. */
export const givenColumn = z
  .strictObject({ id: boundedText(columnIdBytesMax), displayName: displayName.optional(), type: columnType })
  .transform((column): GivenColumn => column);

export const tableSchema = z
  .strictObject({ columns: z.array(givenColumn), key: tableKey.optional() })
  .meta({ id: 'NewTableSchema', description: 'The columns of a table, in the order in which they are shown.' });

/** The name that a client gives a stash (spec section 2). */
export const stashId = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,255}$/,
    'must begin with a letter or digit and have at most 256 letters, digits, dashes and underscores',
  );

/** The reference to a stash: `{"$stashID": ...}` (spec section 2). */
export const stashReference = z
  .strictObject(
    { $stashID: stashId },
    {
      error: ({ code }) => (code === 'invalid_type' ? 'must be an array of rows, or {"$stashID": ...}' : undefined),
    },
  )
  .meta({ id: 'StashReference', description: 'The rows of a stash.' });

/**
 * Throws InvalidRequest if the body, or its `rows`, looks like one row instead of an array of rows. The message says
 * what to send.
 * `rows`: null if the body had no array of rows. `schema`: the members that the body may have besides `rows`.
 */
export function refuseOneRow(
  members: Readonly<Record<string, unknown>>,
  rows: RowSource | null,
  schema: z.ZodObject,
): void {
  const isReference = (value: object): boolean => Object.hasOwn(value, '$stashID');
  if (rows !== null || isReference(members)) return;
  const { rows: given } = members;
  if (typeof given === 'object' && given !== null && !isReference(given))
    throw new InvalidRequest('rows: must be an array: send one row as [{...}]');
  const unknown = Object.keys(members).find((name) => name !== 'rows' && !Object.hasOwn(schema.shape, name));
  if (given === undefined && unknown !== undefined) {
    throw new InvalidRequest(
      `the body: must not have ${JSON.stringify(unknown)}. Rows come in an array: send one row as [{...}]`,
    );
  }
}

/** The query parameters of writes that carry rows for a table. */
export const tableRowsQuery = z.strictObject({ onSchemaError });

/** The input of commands that write rows to an existing table. */
export interface TableRowsInput {
  readonly teamId: string;
  /** The app of the token, which has stashes of its own; null: the token is for the whole team. */
  readonly appId: string | null;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
  readonly query: z.output<typeof tableRowsQuery>;
  /** The body's members, or null for a bare array. */
  readonly members: Readonly<Record<string, unknown>> | null;
  /** Where the rows of an array are stored; null if the body had none. */
  readonly rows: RowSource | null;
  readonly limits: RowLimits;
}

/** The parsed value. Throws the error of `invalid`, whose message names the place. */
export function parse<S extends z.ZodType>(
  schema: S,
  value: unknown,
  invalid: (message: string) => Error,
): z.output<S> {
  const result = schema.safeParse(value, { error: describeMisfit });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue!.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  throw invalid(`${place === '' ? 'the body' : place.replace(/^\./, '')}: ${issue!.message}`);
}
