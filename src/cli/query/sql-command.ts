/** `tablog sql`. */
import type { SqlResult } from '../../../clients/typescript/src/index.ts';
import type { ClientFlags } from '../client/client-settings.ts';
import { openClient } from '../client/open-client.ts';
import { writeWords } from '../console.ts';
import { writeToStdout } from '../export/destination.ts';
import { PageRows } from '../export/page-rows.ts';
import { writtenColumn } from '../export/table-pages.ts';
import { interruption } from '../interruption.ts';
import { showNumber } from '../rows-progress.ts';
import { rowsOutput, sayRows, type RowsOutputFlags } from './rows-output.ts';
import type { SqlParameter } from '../../api/query/sql/literals.ts';

export interface SqlFlags extends ClientFlags, RowsOutputFlags {
  readonly param?: readonly SqlParameter[];
}

/** Writes the rows of a SELECT. Rejects with UserError. */
export async function runSql(sql: string, flags: SqlFlags): Promise<void> {
  const signal = interruption();
  const client = await openClient(flags, signal, writeWords);
  const { data } = await client.operations.POST('/query', {
    body: { sql, ...(flags.param && { parameters: flags.param as (string | number | boolean | null)[] }) },
    parseAs: 'arrayBuffer',
  });
  const bytes = Buffer.from(data!);
  // Parsed for the columns only: the rows are read from the text, in which numbers keep their digits.
  const { columns } = JSON.parse(bytes.toString()) as SqlResult<unknown>;

  const { limit, writerOf } = rowsOutput(flags);
  const writer = writerOf(columns.map(({ name, type }) => writtenColumn(name, type)));
  const pages = new PageRows();
  const before = writer.begin();
  let total = 0;
  pages.read(bytes, () => {
    if (total < limit) writer.add(pages.scanner);
    total += 1;
  });
  if (!(await writeToStdout([before, writer.take(), writer.end()], null, signal))) return;
  const hasMore = total > limit;
  sayRows({ rows: Math.min(total, limit), hasMore }, 'row', hasMore ? ` of ${showNumber(total)}` : '');
}
