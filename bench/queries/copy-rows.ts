/** Loads the rows into Postgres. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Papa from 'papaparse';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { query } from '../environment.ts';
import { querySchema, sqlColumns, sqlNames } from './data.ts';

/** Copies rows into a new table of typed columns. `n` is their order. */
export async function copyRows(
  databaseUrl: string,
  table: string,
  chunks: readonly Buffer[],
  signal: AbortSignal,
): Promise<void> {
  await query(databaseUrl, `create table ${table} (n bigint generated always as identity, ${sqlColumns})`);
  function* text(): Generator<string> {
    const columns = querySchema.columns.map(({ id }) => id);
    for (const chunk of chunks)
      yield `${Papa.unparse(JSON.parse(chunk.toString()) as object[], { columns, header: false, newline: '\n' })}\n`;
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await pipeline(
      Readable.from(text()),
      client.query(copyFrom(`copy ${table} (${sqlNames}) from stdin (format csv)`)),
      { signal },
    );
  } finally {
    await client.end();
  }
}
