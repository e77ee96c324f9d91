/** The operations of the query routes. */
import { z } from 'zod';
import { operators } from '../../../query/language/condition.ts';
import { aggregateFunctions } from '../../../query/language/rows-query.ts';
import { json, type Operation } from '../operation.ts';
import { cellsOf, continuation, row } from './schemas.ts';

const comparison = z.strictObject({
  column: z.string().meta({ description: 'The ID of a column, or `$rowID`.' }),
  op: z.enum(operators),
  value: z.unknown().optional().meta({ description: 'What the cells are compared with: it must fit the column. Of `in` an array of values.' }),
  ignoreCase: z.boolean().optional().meta({ description: 'Of `contains`, `startsWith` and `endsWith`.' }),
});

const condition: z.ZodType = z.lazy(() => z.union([
  comparison, z.strictObject({ and: z.array(condition) }), z.strictObject({ or: z.array(condition) }), z.strictObject({ not: condition }),
])).meta({ id: 'Condition', description: 'Which rows are asked for.' });

const columnIds = z.array(z.string());

const body = z.strictObject({
  filter: condition.optional(),
  sort: columnIds.optional().meta({ description: 'The columns that the rows are sorted by; a minus before one sorts downwards.' }),
  fields: columnIds.optional().meta({ description: 'The columns that are asked for. `$version` is the version of a row.' }),
  count: z.literal('exact').optional().meta({ description: 'Whether to count the rows that meet the filter, in `Tablog-Count`.' }),
  groupBy: columnIds.optional().meta({ description: 'The columns whose values make up a group.' }),
  aggregate: z.array(z.strictObject({
    op: z.enum(aggregateFunctions),
    column: z.string().optional(),
    as: z.string().optional().meta({ description: 'Its name in the answer; without it the function, and the column after a `_`.' }),
  })).optional().meta({ description: 'What is computed of each group, or of all rows if there is no `groupBy`.' }),
  limit: z.int().min(1).optional(),
  continuation,
});

const queryRows: Operation = {
  operationId: 'queryRows',
  tag: 'Rows',
  summary: 'Query rows',
  description: 'A page of the rows that meet a filter, or of their groups. It is of one version, which is in `ETag`, and so are the pages after it, for an hour. '
    + 'All writes are seen that were answered before. With `Accept: text/csv` it is CSV.',
  isCommand: false,
  isRead: true,
  body: json(body, {
    'rows': { filter: { and: [{ column: 'born', op: 'lt', value: '1900-01-01' }, { not: { column: 'name', op: 'isEmpty' } }] }, sort: ['-born'], limit: 100 },
    'groups': { groupBy: ['city'], aggregate: [{ op: 'count' }, { op: 'sum', column: 'amount', as: 'total' }], sort: ['-total'] },
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
        ...cellsOf('A line with the names of the columns, and a line for each row or group.', { groups: 'city,count,total\nParis,2,42\n' }),
      },
    },
  },
  errors: ['continuation_expired', 'payment_required', 'table_not_found', 'limit_exceeded', 'query_timeout', 'column_id_not_found', 'column_has_invalid_value'],
};

export const queryOperations = { queryRows };
