/** The body of a query on the rows of a table. */
import { z } from 'zod';
import { wholeText } from '../../../../commands/inputs.ts';
import { comparisonOperators, type ComparisonOperator } from '../../query/language/condition.ts';
import {
  aggregateFunctions,
  aggregatesMax,
  fieldsMax,
  nameLengthMax,
  sortKeyPattern,
  sortKeysMax,
} from '../../query/language/rows-query.ts';
import { continuation } from '../openapi/schemas.ts';

const text = z.string().meta({ pattern: wholeText });
const column = text.meta({ description: 'The ID of a column, or `$rowID`.' });
/** A value to compare with. `null` is no value: `isEmpty` finds empty cells. */
const cell = z.union([text, z.number(), z.boolean(), z.array(z.unknown()), z.looseObject({})]);
const value = cell.meta({ description: 'The value to compare the cells with. It must fit the type of the column.' });
const part = text.meta({ description: 'The text that the cells contain, begin with or end with.' });

const ofEmptiness = ['isEmpty', 'isNotEmpty'] as const satisfies readonly ComparisonOperator[];
const ofText = ['contains', 'startsWith', 'endsWith'] as const satisfies readonly ComparisonOperator[];
const ofOneValue = comparisonOperators.filter(
  (operator) => operator !== 'in' && ![...ofEmptiness, ...ofText].some((other) => other === operator),
);

const comparisons = [
  z.strictObject({ column, op: z.enum(ofOneValue), value }),
  z.strictObject({ column, op: z.enum(ofText), value: part, ignoreCase: z.boolean().optional() }),
  z.strictObject({
    column,
    op: z.literal('in'),
    value: z
      .array(cell)
      .meta({ description: 'The values of which the cell must have one. Each must fit the type of the column.' }),
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
  .meta({ id: 'Condition', description: 'The condition that rows must meet.' });

const columnIds = (max: number) => z.array(text).max(max).meta({ uniqueItems: true });
const sortKey = z
  .strictObject({ column: text.min(1), descending: z.boolean().optional() })
  .meta({ id: 'SortKey', description: 'A column to sort by. Use this form if the ID begins with a minus.' });
const sort = z
  .array(z.union([z.string().regex(sortKeyPattern), sortKey]))
  .max(sortKeysMax)
  .meta({ uniqueItems: true });

const as = text
  .min(1)
  .max(nameLengthMax)
  .optional()
  .meta({ description: 'The name of the result in the answer; by default the function, and after a `_` the column.' });

export const queryBody = z.strictObject({
  filter: condition.optional(),
  sort: sort.optional().meta({ description: 'The columns to sort by. A minus before a column means descending.' }),
  fields: columnIds(fieldsMax)
    .optional()
    .meta({ description: 'The columns in the answer. `$version` is the version of a row.' }),
  count: z
    .literal('exact')
    .optional()
    .meta({ description: 'Whether to count the rows that meet the filter, in `Tablog-Count`.' }),
  groupBy: columnIds(sortKeysMax).optional().meta({
    description:
      'The columns to group by. Columns of arrays, `json` or `duration` are not allowed. An empty list means no groups.',
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
      description:
        'What to compute for each group, or for all rows if there is no `groupBy`. An empty list means nothing.',
    }),
  limit: z.int().min(1).optional(),
  continuation,
});
