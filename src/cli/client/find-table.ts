/** Finds the table that the command line names. */
import { z } from 'zod';
import { UserError } from '../run-to-end.ts';
import type { TablogClient } from './tablog-client.ts';

const tablesPage = z.object({ data: z.array(z.object({ id: z.string(), name: z.string() })), continuation: z.string().optional() });

export type NamedTable = z.output<typeof tablesPage>['data'][number];

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The table with this ID or name; null if there is none. Throws UserError for an ambiguous name, and for an unknown ID. */
export async function findTable(client: TablogClient, idOrName: string): Promise<NamedTable | null> {
  const tables = await listTables(client);
  const id = idOrName.toLowerCase();
  const identified = tables.find((table) => table.id === id);
  if (identified !== undefined) return identified;
  const named = tables.filter(({ name }) => name === idOrName);
  if (named.length > 1) {
    const ids = named.map((table) => table.id).join(', ');
    throw new UserError(`${named.length} tables are named ${JSON.stringify(idOrName)}; say which by its ID: ${ids}`);
  }
  // A name may look like an ID, but hardly any new table is meant to have such a name.
  if (named.length === 0 && uuid.test(id)) throw new UserError(`There is no table of the ID ${idOrName}.`);
  return named[0] ?? null;
}

/** All tables that the token can see, page by page. */
async function listTables(client: TablogClient): Promise<NamedTable[]> {
  const tables: NamedTable[] = [];
  let query = '';
  for (;;) {
    const { data, continuation } = await client.get(`/tables${query}`, tablesPage);
    tables.push(...data);
    if (continuation === undefined) return tables;
    query = `?continuation=${encodeURIComponent(continuation)}`;
  }
}
