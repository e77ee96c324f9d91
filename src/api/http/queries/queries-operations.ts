/** The operations of the query routes. */
import { z } from 'zod';
import { wholeText } from '../../../../commands/inputs.ts';
import { operators, type Operator } from '../../query/language/condition.ts';
import {
  aggregateFunctions,
  aggregatesMax,
  fieldsMax,
  nameLengthMax,
  sortKeyPattern,
  sortKeysMax,
} from '../../query/language/rows-query.ts';
import { json, type Operation } from '../openapi/operation.ts';
import { cellsOf, columnType, continuation, row } from '../openapi/schemas.ts';

const text = z.string().meta({ pattern: wholeText });
const column = text.meta({ description: 'The ID of a column, or `$rowID`.' });
/** What a cell is compared with. `null` is no value: `isEmpty` asks for empty cells. */
const cell = z.union([text, z.number(), z.boolean(), z.array(z.unknown()), z.looseObject({})]);
const value = cell.meta({ description: 'What the cells are compared with: it must fit the column.' });
const part = text.meta({ description: 'What the cells contain, begin with or end with.' });

const ofEmptiness = ['isEmpty', 'isNotEmpty'] as const satisfies readonly Operator[];
const ofText = ['contains', 'startsWith', 'endsWith'] as const satisfies readonly Operator[];
const ofOneValue = operators.filter(
  (operator) => operator !== 'in' && ![...ofEmptiness, ...ofText].some((other) => other === operator),
);

const comparisons = [
  z.strictObject({ column, op: z.enum(ofOneValue), value }),
  z.strictObject({ column, op: z.enum(ofText), value: part, ignoreCase: z.boolean().optional() }),
  z.strictObject({
    column,
    op: z.literal('in'),
    value: z.array(cell).meta({ description: 'One of these values: each must fit the column.' }),
  }),
  z.strictObject({ column, op: z.enum(ofEmptiness) }),
] as const;

const condition: z.ZodType = z
  .lazy(() =>
    z.union([
      ...comparisons,
      z.strictObject({ and: z.array(condition) }),
      z.strictObject({ or: z.array(condition) }),
      z.strictObject({ not: condition }),
    ]),
  )
  .meta({ id: 'Condition', description: 'Which rows are asked for.' });

const columnIds = (max: number) => z.array(text).max(max).meta({ uniqueItems: true });
const sortKey = z
  .strictObject({ column: text.min(1), descending: z.boolean().optional() })
  .meta({ id: 'SortKey', description: 'A column that rows are sorted by, also one whose ID begins with a minus.' });
const sort = z
  .array(z.union([z.string().regex(sortKeyPattern), sortKey]))
  .max(sortKeysMax)
  .meta({ uniqueItems: true });

const as = text
  .min(1)
  .max(nameLengthMax)
  .optional()
  .meta({ description: 'Its name in the answer; without it the function, and the column after a `_`.' });

const body = z.strictObject({
  filter: condition.optional(),
  sort: sort
    .optional()
    .meta({ description: 'The columns that the rows are sorted by; a minus before one sorts downwards.' }),
  fields: columnIds(fieldsMax)
    .optional()
    .meta({ description: 'The columns that are asked for. `$version` is the version of a row.' }),
  count: z
    .literal('exact')
    .optional()
    .meta({ description: 'Whether to count the rows that meet the filter, in `Tablog-Count`.' }),
  groupBy: columnIds(sortKeysMax).optional().meta({
    description: 'The columns whose values make up a group: none of arrays, `json` or `duration`. Empty means none.',
  }),
  aggregate: z
    .array(
      z.union([
        z.strictObject({ op: z.literal('count'), column: text.optional(), as }),
        z.strictObject({ op: z.enum(aggregateFunctions.filter((name) => name !== 'count')), column: text, as }),
      ]),
    )
    .max(aggregatesMax)
    .optional()
    .meta({
      description: 'What is computed of each group, or of all rows if there is no `groupBy`. Empty means nothing.',
    }),
  limit: z.int().min(1).optional(),
  continuation,
});

const queryRows: Operation = {
  operationId: 'queryRows',
  tag: 'Rows',
  summary: 'Query rows',
  description:
    'A page of the rows that meet a filter, or of their groups. It is of one version, which is in `ETag`, and so are the pages after it, for an hour. ' +
    'All writes are seen that were answered before. With `Accept: text/csv` it is CSV. Beside `continuation` only `limit` counts.',
  isCommand: false,
  isRead: true,
  body: json(body, {
    rows: {
      filter: { and: [{ column: 'born', op: 'lt', value: '1900-01-01' }, { not: { column: 'name', op: 'isEmpty' } }] },
      sort: ['-born'],
      limit: 100,
    },
    groups: {
      groupBy: ['city'],
      aggregate: [{ op: 'count' }, { op: 'sum', column: 'amount', as: 'total' }],
      sort: ['-total'],
    },
  }),
  answers: {
    200: {
      description: 'Rows or groups, and where to go on.',
      versioned: true,
      headersAtTimes: ['Tablog-Count', 'Tablog-Cache', 'Tablog-Continuation', 'Link'],
      body: {
        ...json(z.strictObject({ data: z.array(z.union([row, z.looseObject({})])), continuation }), {
          rows: { data: [{ $rowID: 'AAAAAAAAAAEAAAAAAAAAAA', name: 'Ada', born: '1815-12-10' }] },
          groups: { data: [{ city: 'Paris', count: 2, total: 42 }] },
        }),
        ...cellsOf('A line with the names of the columns, and a line for each row or group.', {
          groups: 'city,count,total\nParis,2,42\n',
        }),
      },
    },
  },
  errors: [
    'continuation_expired',
    'payment_required',
    'table_not_found',
    'limit_exceeded',
    'query_timeout',
    'column_id_not_found',
    'column_has_invalid_value',
  ],
};

const parameter = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const querySql: Operation = {
  operationId: 'querySql',
  tag: 'Rows',
  summary: 'Query tables in SQL',
  description:
    'One SELECT in the SQL of DuckDB, over the tables of the team. Each is named by its ID or, if no other has it, its name. All are read as of one moment, at the versions in the ' +
    'answer. All writes are seen that were answered before. Besides its columns each table has `$rowID` and `$version`. Names are told apart by case.',
  isCommand: false,
  isRead: true,
  body: json(
    z.strictObject({
      sql: z.string().regex(/\S/).meta({ description: 'At most 64 KiB.' }),
      parameters: z
        .union([z.array(parameter), z.record(z.string(), parameter)])
        .optional()
        .meta({
          description:
            'The values of `?`, or of `$1`, `$2` and so on; in an object, of `$name`. An integer that a double cannot hold is refused: send it as a text.',
        }),
      format: z.enum(['json', 'csv']).optional().meta({ description: 'Without it, what `Accept` prefers.' }),
    }),
    {
      'a group': {
        sql: 'SELECT city, avg(amount) AS mean FROM orders WHERE amount > $1 GROUP BY city',
        parameters: [4],
      },
    },
  ),
  answers: {
    200: {
      description:
        'The rows of the result, its columns with types of the interface, and the versions of the tables; as CSV a header and the rows.',
      headersAtTimes: ['Tablog-Cache'],
      body: {
        ...json(
          z.strictObject({
            data: z.array(z.looseObject({})),
            columns: z.array(z.strictObject({ name: z.string(), type: columnType })),
            versions: z.record(z.string(), z.string()),
          }),
          {
            'a group': {
              data: [{ city: 'Paris', mean: 21 }],
              columns: [
                { name: 'city', type: 'string' },
                { name: 'mean', type: 'number' },
              ],
              versions: { '0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e': '42' },
            },
          },
        ),
        ...cellsOf('A header, and a line for each row.', { 'a group': 'city,mean\nParis,21\n' }),
      },
    },
  },
  errors: [
    'query_invalid',
    'payment_required',
    'table_not_found',
    'limit_exceeded',
    'query_timeout',
    'column_has_invalid_value',
  ],
};

export const queryOperations = { queryRows, querySql };
