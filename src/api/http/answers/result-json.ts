import type { Readable } from 'node:stream';
import type { AppliedResult } from '../../../language/events/outcome.ts';
import type { ColumnMisfits } from '../../../language/values/column-misfits.ts';
import { encloseRowIds, type FindRetainedIds } from './row-ids-json.ts';

/**
 * `before`, the `data` of the answer to a write as JSON, and `after`. The one place that formats a write's result (spec
 * 4.2 and 4.12), for its answer and for its job.
 */
export async function encloseResult(
  before: string,
  result: AppliedResult,
  after: string,
  findRetainedIds: FindRetainedIds,
): Promise<string | Buffer | Readable> {
  const { tableId, rows, linkedAppIds, misfits } = result;
  if (rows === undefined) return `${before}${misfits === undefined ? '{}' : misfitsJson(misfits)}${after}`;
  const table = tableId === undefined ? '' : `"tableID":"${tableId}",`;
  const apps = linkedAppIds === undefined ? '' : `,"linkedAppIDs":${JSON.stringify(linkedAppIds)}`;
  return encloseRowIds(`${before}{${table}"rowIDs":`, rows, `${apps}}${after}`, findRetainedIds);
}

/** The cells that a change of types has cleared, or would clear, as JSON. */
export function misfitsJson(misfits: readonly ColumnMisfits[]): string {
  return JSON.stringify({
    misfits: misfits.map(({ id, cells, rowId: rowID, value }) => ({ id, cells, rowID, value })),
  });
}
