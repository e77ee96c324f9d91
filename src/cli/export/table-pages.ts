/** Reads the rows of a table, page by page (docs/spec/decisions.md 3). */
import { versionOf, type ColumnType, type Tablog } from '../../../clients/typescript/src/index.ts';
import type { WrittenColumn } from '../../language/formats/delimited-row-writer.ts';
import { UserError } from '../user-error.ts';

export interface ExportedTable {
  readonly id: string;
  readonly name: string;
  /** The current number of rows. */
  readonly rows: number;
  readonly columns: readonly WrittenColumn[];
}

export interface Page {
  /** The JSON text of the answer. */
  readonly bytes: Buffer;
  /** The version of the table when the page was read. */
  readonly version: string;
}

export async function readTable(client: Tablog, id: string): Promise<ExportedTable> {
  const { name, rows, schema } = await client.table(id).describe();
  return { id, name, rows, columns: schema.columns.map((column) => writtenColumn(column.id, column.type)) };
}

/** How the cells of a column are written. */
export function writtenColumn(id: string, type: ColumnType): WrittenColumn {
  return { id, isJson: (typeof type === 'string' ? type : type.kind) === 'json' };
}

/** Reads a page of the table. `continuation` null: the first page. */
export async function fetchPage(client: Tablog, tableID: string, continuation: string | null): Promise<Page> {
  return pageOf(
    await client.operations.GET('/tables/{tableID}/rows', {
      params: { path: { tableID }, query: continuation === null ? {} : { continuation } },
      parseAs: 'arrayBuffer',
    }),
  );
}

/** The page in an answer. Throws TablogError if the answer has no version. */
export function pageOf({ data, response }: { readonly data?: ArrayBuffer; readonly response: Response }): Page {
  return { bytes: Buffer.from(data!), version: versionOf(response).slice(1, -1) };
}

/** The error for columns that changed while the pages of the table were read. */
export function tableChanged(): UserError {
  return new UserError('The columns of the table changed while it was read: try again.');
}
