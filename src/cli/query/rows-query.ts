/** The flags of `tablog query`, as the body of a query (docs/spec/queries.md). */
import { InvalidArgumentError } from 'commander';
import { parseExactly } from '../../language/formats/exact-json.ts';

/** An aggregate: `count`, or `sum:amount` as `sum` of the column `amount`. */
export interface AggregateFlag {
  readonly op: string;
  readonly column?: string;
}

export interface RowsQueryFlags {
  readonly filter?: unknown;
  readonly sort?: readonly string[];
  readonly fields?: readonly string[];
  readonly count?: boolean;
  readonly groupBy?: readonly string[];
  readonly aggregate?: readonly AggregateFlag[];
}

/** The members of the body except `limit` and `continuation`. The service checks them. */
export function bodyOf({ filter, sort, fields, count, groupBy, aggregate }: RowsQueryFlags): object {
  return { filter, sort, fields, count: count ? 'exact' : undefined, groupBy, aggregate };
}

/** The names of a group's columns in order; null if the query is for rows. */
export function groupColumns({ groupBy, aggregate }: RowsQueryFlags): readonly string[] | null {
  if (groupBy === undefined && aggregate === undefined) return null;
  const values = (aggregate ?? []).map(({ op, column }) => (column === undefined ? op : `${op}_${column}`));
  return [...(groupBy ?? []), ...values];
}

/** Parses `--filter`. Its numbers keep their digits. */
export function parseFilter(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    throw new InvalidArgumentError('It must be JSON, such as {"column":"age","op":"gte","value":18}.');
  }
}

/** Parses names separated by commas. A name that contains a comma can be given in a JSON array. */
export function parseNames(text: string): readonly string[] {
  if (!text.startsWith('[')) return text.split(',');
  try {
    const names = JSON.parse(text) as unknown;
    if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  } catch {
    // Fall through to the error below.
  }
  throw new InvalidArgumentError('It must be names separated by commas, or a JSON array of names.');
}

/** Parses `--aggregate`. */
export function parseAggregates(text: string): readonly AggregateFlag[] {
  return parseNames(text).map((name) => {
    const colon = name.indexOf(':');
    return colon === -1 ? { op: name } : { op: name.slice(0, colon), column: name.slice(colon + 1) };
  });
}
