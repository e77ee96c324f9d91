/** Finds the table that the command line names. */
import type { Tablog, TableSummary } from '../../../clients/typescript/src/index.ts';
import { UserError } from '../user-error.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The table with this ID or name; null if there is none. Throws UserError for an ambiguous name, and for an unknown ID.
 */
export async function findTable(client: Tablog, idOrName: string): Promise<TableSummary | null> {
  const tables = await client.tables().toArray();
  const id = idOrName.toLowerCase();
  const identified = tables.find((table) => table.id === id);
  if (identified !== undefined) return identified;
  const named = tables.filter(({ name }) => name === idOrName);
  if (named.length > 1) {
    const ids = named.map((table) => table.id).join(', ');
    throw new UserError(`${named.length} tables are named ${JSON.stringify(idOrName)}; give the ID of one: ${ids}`);
  }
  // A name that looks like an ID is a mistyped ID: no table is created for it.
  if (named.length === 0 && uuid.test(id)) throw new UserError(`There is no table with the ID ${idOrName}.`);
  return named[0] ?? null;
}
