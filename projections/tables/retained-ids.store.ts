/** Reads and writes the row IDs that rows of segments came with. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { storedRetainedIds } from '../segments/segment.entity.ts';
import { isShownAt, latest } from './read/table-at.ts';
import type { RetainedId } from './retained-ids.ts';

const selectRetainedIds: Statement<RetainedId> = {
  name: 'select_retained_ids',
  text: `select ${storedRetainedIds.columns()} from retained_ids where id = any($1) and (
      retained_ids.segment = any($3::int8[]) or exists (
        select from extents join tables on ${isShownAt('extents', latest)}
        where extents.segment = retained_ids.segment and extents.table_id = any($2::uuid[])))`,
};

interface WantedRetainedIds {
  readonly ids: readonly string[];
  /** The tables whose present generations are searched, and other segments to search. */
  readonly tableIds: readonly string[];
  readonly segments: readonly bigint[];
}

/** The rows that came with one of these IDs. */
export async function findRetainedIds(tx: Tx, { ids, tableIds, segments }: WantedRetainedIds): Promise<RetainedId[]> {
  return (await tx.query(selectRetainedIds, [ids, tableIds, segments])).rows;
}

export const insertRetainedIds = storedRetainedIds.insert('insert_retained_ids');
