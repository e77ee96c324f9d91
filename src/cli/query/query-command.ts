/** `tablog query`. */
import type { WrittenColumn } from '../../language/formats/delimited-row-writer.ts';
import type { ClientFlags } from '../client/client-settings.ts';
import { findTable } from '../client/find-table.ts';
import { openClient } from '../client/open-client.ts';
import { writeWords } from '../console.ts';
import { writeToStdout } from '../export/destination.ts';
import { pagesText, type Written } from '../export/pages-text.ts';
import { pageOf, readTable, type ExportedTable, type Page } from '../export/table-pages.ts';
import { interruption } from '../interruption.ts';
import { showNumber } from '../rows-progress.ts';
import { UserError } from '../user-error.ts';
import { rowsOutput, sayRows, type RowsOutputFlags } from './rows-output.ts';
import { filterOf, type Where } from '../change/conditions.ts';
import { bodyOf, groupColumns, type RowsQueryFlags } from './rows-query.ts';

export interface QueryFlags extends ClientFlags, RowsOutputFlags, RowsQueryFlags {
  readonly where?: readonly Where[];
}

/** Writes the rows of a table that match the flags, or their groups. Rejects with UserError. */
export async function runQuery(idOrName: string, flags: QueryFlags): Promise<void> {
  const signal = interruption();
  const ended = new AbortController();
  const client = await openClient(flags, AbortSignal.any([signal, ended.signal]), writeWords);
  const found = await findTable(client, idOrName);
  if (found === null) throw new UserError(`There is no table ${JSON.stringify(idOrName)}.`);
  const { where } = flags;
  const asked: RowsQueryFlags =
    where === undefined ? flags : { ...flags, filter: filterOf(where, await client.table(found.id).columns.list()) };
  const groups = groupColumns(flags);
  const columns = groups?.map(textColumn) ?? shownColumns(await readTable(client, found.id), flags.fields);
  const { limit, writerOf } = rowsOutput(flags);

  let total: string | null = null;
  const read = async (continuation: string | null, limit: number): Promise<Page> => {
    const page = continuation === null ? bodyOf(asked) : { continuation };
    const body = { ...page, ...(limit < Infinity && { limit }) };
    const answer = await client.operations.POST('/tables/{tableID}/query', {
      params: { path: { tableID: found.id } },
      body,
      parseAs: 'arrayBuffer',
    });
    total ??= answer.response.headers.get('tablog-count');
    return pageOf(answer);
  };
  const written: Written = { rows: 0, hasMore: false, versions: [] };
  try {
    if (!(await writeToStdout(pagesText({ read, writer: writerOf(columns), written, limit }), null, signal))) return;
  } finally {
    // Cancel the request for the next page, which nobody needs any more.
    ended.abort();
  }
  const of = total === null ? '' : ` of ${showNumber(Number(total))}${groups === null ? '' : ' rows'}`;
  sayRows(written, groups === null ? 'row' : 'group', `${of}, version ${written.versions[0]}`);
}

function shownColumns({ columns }: ExportedTable, fields: readonly string[] | undefined): readonly WrittenColumn[] {
  return fields?.map((field) => columns.find(({ id }) => id === field) ?? textColumn(field)) ?? columns;
}

function textColumn(id: string): WrittenColumn {
  return { id, isJson: false };
}
