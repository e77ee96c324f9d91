/** The query parameters that pages and exports of rows share: those of a query. */
import { z } from 'zod';
import { wholeText } from '../../../../commands/inputs.ts';
import { MalformedBody } from '../../../language/values/malformed-body.ts';
import { fieldsMax, sortKeyPattern, sortKeysMax, type GivenQuery } from '../../query/language/rows-query.ts';
import { parseEngineContinuation } from '../../query/protocol.ts';
import { parseStrictly } from './json-parameter.ts';

/** A condition in JSON. Here and below, an empty parameter counts as absent, because some forms cannot leave it out. */
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

/** Column IDs, separated by commas. If one contains a comma: a JSON array. */
const columnIds = z.string().transform((text) => {
  if (text === '') return undefined;
  if (text.startsWith('[')) {
    try {
      return parseStrictly(text);
    } catch {
      // The text is no JSON: it is the ID of a column that begins with a bracket.
    }
  }
  return text.split(',');
});

/** The JSON Schema of a text that is JSON. */
function inJson(schema: object, ...examples: readonly unknown[]): object {
  return { type: 'string', contentMediaType: 'application/json', contentSchema: schema, examples };
}

/** The query parameters that select rows, their order and their columns (docs/spec/queries.md). */
export const whichRows = {
  filter: condition.optional().meta({
    description: 'The condition that rows must meet, in JSON.',
    jsonSchema: inJson({ $ref: '#/components/schemas/Condition' }, { column: 'age', op: 'gte', value: 18 }),
  }),
  sort: columnIds.optional().meta({
    description:
      'The columns to sort by, as a JSON array or separated by commas. A minus before a column means descending.',
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
      'The columns in the answer, as a JSON array or separated by commas. `$version` is the version of a row.',
    jsonSchema: inJson(
      { type: 'array', items: { type: 'string', pattern: wholeText }, maxItems: fieldsMax, uniqueItems: true },
      ['name', '$version'],
    ),
  }),
};

/** The query of a request; null if it asks for a plain page of all rows. */
export function queryOf({ filter, sort, fields, count }: GivenQuery): GivenQuery | null {
  const query: GivenQuery = {
    ...(filter !== undefined && { filter }),
    ...(sort !== undefined && { sort }),
    ...(fields !== undefined && { fields }),
    ...(count !== undefined && { count }),
  };
  return Object.keys(query).length === 0 ? null : query;
}

/** Whether a continuation belongs to a query, not to a page of all rows. */
export function isOfQuery(continuation: string | undefined): continuation is string {
  return continuation !== undefined && parseEngineContinuation(continuation) !== null;
}
