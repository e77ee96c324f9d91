/** The query parameters that pages and exports of rows share: those of a query. */
import { z } from 'zod';
import { wholeText } from '../../../../commands/inputs.ts';
import { MalformedBody } from '../../../language/values/malformed-body.ts';
import { fieldsMax, sortKeyPattern, sortKeysMax, type GivenQuery } from '../../query/language/rows-query.ts';
import { parseEngineContinuation } from '../../query/protocol.ts';
import { parseStrictly } from './json-parameter.ts';

/** Forms that cannot leave a parameter out send it empty: that counts as absent, here and below. */
const condition = z.string().transform((text, context) => {
  if (text === '') return undefined;
  try {
    return parseStrictly(text);
  } catch (error) {
    const message =
      error instanceof MalformedBody
        ? error.message.replace(/^value: /, '')
        : 'must be JSON, such as {"column":"age","op":"gte","value":18}';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
});

/** Column IDs with commas between them or, if one contains a comma, as an array in JSON. */
const columnIds = z.string().transform((text) => {
  if (text === '') return undefined;
  if (text.startsWith('[')) {
    try {
      return parseStrictly(text);
    } catch {
      // It is the ID of a column, which begins so.
    }
  }
  return text.split(',');
});

/** The JSON Schema of a text that is JSON. */
function inJson(schema: object, ...examples: readonly unknown[]): object {
  return { type: 'string', contentMediaType: 'application/json', contentSchema: schema, examples };
}

/** The query parameters that say which rows are asked for, and how (docs/spec/queries.md). */
export const whichRows = {
  filter: condition.optional().meta({
    description: 'Which rows are asked for: a condition in JSON.',
    jsonSchema: inJson({ $ref: '#/components/schemas/Condition' }, { column: 'age', op: 'gte', value: 18 }),
  }),
  sort: columnIds.optional().meta({
    description:
      'The columns that the rows are sorted by; a minus before one sorts downwards. Also without brackets and quotes, with commas between them.',
    jsonSchema: inJson(
      {
        type: 'array',
        items: {
          anyOf: [{ type: 'string', pattern: sortKeyPattern.source }, { $ref: '#/components/schemas/SortKey' }],
        },
        maxItems: sortKeysMax,
        uniqueItems: true,
      },
      ['-born', 'name'],
    ),
  }),
  fields: columnIds.optional().meta({
    description:
      'The columns that are asked for. `$version` is the version of a row. Also without brackets and quotes, with commas between them.',
    jsonSchema: inJson(
      { type: 'array', items: { type: 'string', pattern: wholeText }, maxItems: fieldsMax, uniqueItems: true },
      ['name', '$version'],
    ),
  }),
};

/** What a request asks of the rows; null if it asks for a page of all of them, as it is. */
export function queryOf({ filter, sort, fields, count }: GivenQuery): GivenQuery | null {
  const query: GivenQuery = {
    ...(filter !== undefined && { filter }),
    ...(sort !== undefined && { sort }),
    ...(fields !== undefined && { fields }),
    ...(count !== undefined && { count }),
  };
  return Object.keys(query).length === 0 ? null : query;
}

/** Whether a continuation is that of a query, not of a page of all rows. */
export function isOfQuery(continuation: string | undefined): continuation is string {
  return continuation !== undefined && parseEngineContinuation(continuation) !== null;
}
