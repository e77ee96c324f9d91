import type { Readable } from 'node:stream';
import type { AppliedResult } from '../../../language/events/outcome.ts';
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
  const { tableId, rows, linkedAppIds } = result;
  if (rows === undefined) return `${before}{}${after}`;
  const table = tableId === undefined ? '' : `"tableID":"${tableId}",`;
  const apps = linkedAppIds === undefined ? '' : `,"linkedAppIDs":${JSON.stringify(linkedAppIds)}`;
  return encloseRowIds(`${before}{${table}"rowIDs":`, rows, `${apps}}${after}`, findRetainedIds);
}
