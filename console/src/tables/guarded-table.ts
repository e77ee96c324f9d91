/** Changes a table only if it is as the page shows it. */
import type { Table, TableDescription, Version } from '../../../clients/typescript/src/index.ts';
import { isErrorOfType } from '../ui/describe-error.ts';

/** The names of a table and its columns that are to change; null takes one away. */
interface NewNames {
  readonly name?: string;
  readonly columns?: { readonly id: string; readonly displayName: string | null }[];
}

/**
 * Renames a table. Throws if another client has renamed it since the page showed its name. Other changes do not matter.
 */
export async function renameTable(table: Table, seen: TableDescription, names: NewNames): Promise<void> {
  const found = await guard(
    table,
    seen,
    (now) => isSameName(seen, now, names),
    (ifMatch) => table.update(names, { ifMatch }),
  );
  if (found !== null)
    throw new Error(
      'Somebody else has given another name to the table, or to one of these columns. Nothing was changed. Close this, and look at the names as they are now.',
    );
}

function isSameName(seen: TableDescription, now: TableDescription, { name, columns = [] }: NewNames): boolean {
  const titles = ({ schema }: TableDescription): unknown[] =>
    columns.map(({ id }) => schema.columns.find((column) => column.id === id)?.displayName);
  return (name === undefined || seen.name === now.name) && JSON.stringify(titles(seen)) === JSON.stringify(titles(now));
}

/**
 * Deletes a table if its name, its columns and its number of rows are as they were seen; else resolves to what it is
 * now.
 */
export function dropTable(table: Table, seen: TableDescription): Promise<TableDescription | null> {
  const facts = ({ name, rows, schema }: TableDescription): string =>
    JSON.stringify([name, rows, schema.columns.map(({ id }) => id)]);
  return guard(
    table,
    seen,
    (now) => facts(now) === facts(seen),
    (ifMatch) => table.drop({ ifMatch }),
  );
}

/**
 * Writes with If-Match, and again as long as only that has changed which is not seen. Resolves to the table as it is
 * now if it is another.
 */
async function guard(
  table: Table,
  seen: TableDescription,
  isAsSeen: (now: TableDescription) => boolean,
  write: (ifMatch: Version) => Promise<unknown>,
): Promise<TableDescription | null> {
  for (let known = seen; ;) {
    try {
      await write(`"${known.version}"` as Version);
      return null;
    } catch (error) {
      if (!isErrorOfType(error, 'precondition_failed')) throw error;
    }
    known = await table.describe();
    if (!isAsSeen(known)) return known;
  }
}
