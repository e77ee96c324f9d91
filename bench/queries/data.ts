/** The rows of the queries: the rows of the other benchmarks, with a moment instead of the website. */
import { below, makeRow, rowsPerRequest, customerSchema, seededRandom, type Random } from '../data.ts';

/** The columns, with their types in the service and in Postgres. */
const sqlTypes = {
  string: 'text',
  emailAddress: 'text',
  uri: 'text',
  date: 'date',
  dateTime: 'timestamptz',
  number: 'double precision',
  boolean: 'boolean',
} as const;

export const querySchema = {
  columns: customerSchema.columns.map((column) =>
    column.id === 'website' ? ({ id: 'lastSeen', type: 'dateTime' } as const) : column,
  ),
};

/** The same columns in SQL. */
export const sqlNames = querySchema.columns.map(({ id }) => `"${id}"`).join(', ');
export const sqlColumns = querySchema.columns.map(({ id, type }) => `"${id}" ${sqlTypes[type]}`).join(', ');

/** Chunks of rows as JSON, for this many rows. */
export function makeRowChunks(rows: number): Buffer[] {
  const random = seededRandom(1);
  const chunk = (): object[] => Array.from({ length: rowsPerRequest }, () => makeSeenRow(random));
  return Array.from({ length: Math.ceil(rows / rowsPerRequest) }, () => Buffer.from(JSON.stringify(chunk())));
}

function makeSeenRow(random: Random): object {
  const { website: _, ...row } = makeRow(random);
  return { ...row, lastSeen: new Date(Date.UTC(2025, 0, 1) + below(random, 365 * 86_400) * 1_000).toISOString() };
}
