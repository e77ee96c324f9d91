/** Changes a table only if it is still as the page shows it. */
import type { Table, TableDescription, Version } from '../../../clients/typescript/src/index.ts';
import { isErrorOfType } from '../ui/describe-error.ts';

/** New names of a table and its columns; null removes a display name. */
interface NewNames {
  readonly name?: string;
  readonly columns?: { readonly id: string; readonly displayName: string | null }[];
}

/**
 * Renames a table. Throws if somebody else has renamed it since the page showed its names. Other changes do not matter.
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
      'Somebody else has renamed the table or one of these columns. Nothing was changed. Close this dialog to see the new names.',
    );
}

function isSameName(seen: TableDescription, now: TableDescription, { name, columns = [] }: NewNames): boolean {
  const titles = ({ schema }: TableDescription): unknown[] =>
    columns.map(({ id }) => schema.columns.find((column) => column.id === id)?.displayName);
  return (name === undefined || seen.name === now.name) && JSON.stringify(titles(seen)) === JSON.stringify(titles(now));
}

/**
 * Deletes a table if its name, its columns and its number of rows are as the page showed them. Otherwise resolves with
 * the table as it is now.
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
 * Writes with If-Match, and repeats while only details have changed that the page does not show. If something else has
 * changed, resolves with the table as it is now.
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
