/** Reads the rows of a table, page by page (docs/spec/decisions.md 3). */
import { z } from 'zod';
import type { WrittenColumn } from '../../formats/delimited-row-writer.ts';
import { versionOf, type TablogClient } from '../client/tablog-client.ts';
import { UserError } from '../run-to-end.ts';

/** A type as the interface writes it: of arrays and the like an object. */
export const columnType = z.union([z.string(), z.object({ kind: z.string() })]);

const tableBody = z.object({
  data: z.object({
    name: z.string(), rows: z.number(), schema: z.object({ columns: z.array(z.object({ id: z.string(), type: columnType })) }),
  }),
});

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

/** Throws ServerRefusal, ServerAway. */
export async function readTable(client: TablogClient, id: string): Promise<ExportedTable> {
  const { data: { name, rows, schema } } = await client.get(`/tables/${id}`, tableBody);
  return { id, name, rows, columns: schema.columns.map((column) => writtenColumn(column.id, column.type)) };
}

/** How the cells of a column are written. */
export function writtenColumn(id: string, type: z.output<typeof columnType>): WrittenColumn {
  return { id, isJson: (typeof type === 'string' ? type : type.kind) === 'json' };
}

/** Reads a page; null as `continuation`: the first one. Throws ServerRefusal, ServerAway. */
export async function readPage(client: TablogClient, tableId: string, continuation: string | null): Promise<Page> {
  const query = new URLSearchParams(continuation === null ? {} : { continuation });
  return client.request('GET', `/tables/${tableId}/rows?${query}`, {}, async (response) => {
    const version = versionOf(response);
    return { bytes: Buffer.from(await response.arrayBuffer()), version };
  });
}

/** The table's columns changed while its pages were read. */
export function tableChanged(): UserError {
  return new UserError('The table got other columns while it was read: try again.');
}
