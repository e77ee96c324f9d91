/** `tablog sql`. */
import { z } from 'zod';
import type { ClientFlags } from '../client/client-settings.ts';
import { openClient } from '../client/open-client.ts';
import { notTablog } from '../client/server-error.ts';
import { parseJson } from '../client/tablog-client.ts';
import { writeWords } from '../console.ts';
import { writeToStdout } from '../export/destination.ts';
import { PageRows } from '../export/page-rows.ts';
import { columnType, writtenColumn } from '../export/table-pages.ts';
import { interruption } from '../interruption.ts';
import { showNumber } from '../rows-progress.ts';
import { rowsOutput, sayRows, type RowsOutputFlags } from './rows-output.ts';
import type { SqlParameter } from './sql-parameters.ts';

export interface SqlFlags extends ClientFlags, RowsOutputFlags {
  readonly param?: readonly SqlParameter[];
}

const answer = z.object({ columns: z.array(z.object({ name: z.string(), type: columnType })) });

/** Writes what a SELECT gives. Throws UserError. */
export async function runSql(sql: string, flags: SqlFlags): Promise<void> {
  const signal = interruption();
  const client = await openClient(flags, signal, writeWords);
  const body = JSON.stringify({ sql, parameters: flags.param });
  const bytes = await client.request('POST', '/query', { headers: { 'content-type': 'application/json' }, body }, async (response) => {
    return Buffer.from(await response.arrayBuffer());
  });
  const parsed = answer.safeParse(parseJson(bytes.toString()));
  if (!parsed.success) throw notTablog(200);

  const { limit, writerOf } = rowsOutput(flags);
  const writer = writerOf(parsed.data.columns.map(({ name, type }) => writtenColumn(name, type)));
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
