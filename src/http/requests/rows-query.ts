/** The query parameters of `GET /tables/{tableID}/rows`: those of a page, and of a query on the rows (docs/spec/queries.md). */
import { z } from 'zod';
import { exportFormats } from '../../query/language/export-format.ts';
import type { GivenQuery } from '../../query/language/rows-query.ts';
import { parseContinuation } from '../../query/protocol.ts';
import { pageQuery } from './page-query.ts';

const json = (problem: string) => z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue({ code: 'custom', message: problem });
    return z.NEVER;
  }
});

/** Column IDs with commas between them or, if one contains a comma, as an array in JSON. */
const columnIds = z.string().transform((text) => {
  if (text.startsWith('[')) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // It is the ID of a column, which begins so.
    }
  }
  return text.split(',');
});

const whichRows = {
  filter: json('must be JSON, such as {"column":"age","op":"gte","value":18}').optional()
    .meta({ description: 'Which rows are asked for: a condition in JSON.', jsonSchema: { type: 'string' } }),
  sort: columnIds.optional()
    .meta({ description: 'The columns that the rows are sorted by, with commas between them; a minus before one sorts downwards.', jsonSchema: { type: 'string' } }),
  fields: columnIds.optional()
    .meta({ description: 'The columns that are asked for, with commas between them. `$version` is the version of a row.', jsonSchema: { type: 'string' } }),
};

export const rowsQuery = pageQuery('rows').extend({
  ...whichRows,
  count: z.literal('exact', 'must be "exact"').optional()
    .meta({ description: 'Whether to count the rows that meet the filter, in `Tablog-Count`.', jsonSchema: { type: 'string', enum: ['exact'] } }),
});

/** The query parameters of `GET /tables/{tableID}/export`. */
export const exportQuery = z.strictObject({
  format: z.enum(exportFormats).optional().meta({ description: 'The format of the file. Without it, `Accept` says which.' }),
  ...whichRows,
});

/** What a request asks of the rows; null if it asks for a page of all of them, as it is. */
export function queryOf({ filter, sort, fields, count }: GivenQuery): GivenQuery | null {
  const query: GivenQuery = {
    ...(filter !== undefined && { filter }), ...(sort !== undefined && { sort }), ...(fields !== undefined && { fields }), ...(count !== undefined && { count }),
  };
  return Object.keys(query).length === 0 ? null : query;
}

/** Whether a continuation is that of a query, not of a page of all rows. */
export function isOfQuery(continuation: string | undefined): continuation is string {
  return continuation !== undefined && parseContinuation(continuation) !== null;
}
