/** `tablog tables`: lists, renames and deletes tables. */
import type { Table, TableSummary, Version } from '../../clients/typescript/src/index.ts';
import type { ClientFlags } from './client/client-settings.ts';
import { findTable } from './client/find-table.ts';
import { openClient } from './client/open-client.ts';
import { writeOut, writeTable, writeWords } from './console.ts';
import { parseVersion } from './import/import-request.ts';
import { interruption } from './interruption.ts';
import { showNumber } from './rows-progress.ts';
import { UserError } from './user-error.ts';

export interface TablesFlags extends ClientFlags {
  readonly json?: boolean;
}

export interface ChangeFlags extends TablesFlags {
  /** A version of the table, with or without its quotes. */
  readonly ifMatch?: string;
}

/** Lists all tables, in the order of their creation. */
export async function runTablesList(flags: TablesFlags): Promise<void> {
  const client = await openClient(flags, interruption(), writeWords);
  const tables = await client.tables().toArray();
  if (flags.json) writeOut(JSON.stringify(tables));
  else
    await writeTable(
      ['ID', 'NAME'],
      tables.map(({ id, name }) => [id, name]),
    );
}

/** Renames a table. Rejects with UserError if there is no such table, or if several have the name. */
export async function runTablesRename(idOrName: string, to: string, flags: ChangeFlags): Promise<void> {
  const { table, id, name } = await openTable(idOrName, flags);
  const version = await table.update({ name: to }, matching(flags));
  if (flags.json) writeOut(JSON.stringify({ id, name: to, version: version.slice(1, -1) }));
  else writeWords(`The table ${JSON.stringify(name)} (${id}) is now named ${JSON.stringify(to)}.`);
}

/**
 * Deletes a table with its rows, permanently. Rejects with UserError if there is no such table, or if several have the
 * name.
 */
export async function runTablesDelete(idOrName: string, flags: ChangeFlags): Promise<void> {
  const { table, id, name } = await openTable(idOrName, flags);
  const { rows } = await table.describe();
  await table.drop(matching(flags));
  if (flags.json) writeOut(JSON.stringify({ id, name, rows }));
  else
    writeWords(
      `The table ${JSON.stringify(name)} (${id}) is deleted. It had ${showNumber(rows)} ${rows === 1 ? 'row' : 'rows'}.`,
    );
}

/** A table of the service, with its name. */
export interface OpenTable extends TableSummary {
  readonly table: Table;
}

/** Throws UserError if there is no such table, or several have the name. */
export async function openTable(idOrName: string, flags: ClientFlags): Promise<OpenTable> {
  const client = await openClient(flags, interruption(), writeWords);
  const found = await findTable(client, idOrName);
  if (found === null) throw new UserError(`There is no table ${JSON.stringify(idOrName)}.`);
  return { ...found, table: client.table(found.id) };
}

export function matching({ ifMatch }: ChangeFlags): { readonly ifMatch?: Version } {
  return ifMatch === undefined ? {} : { ifMatch: parseVersion(ifMatch) };
}
