/** The identities that rows of segments came with, as a batch reads and writes them. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { ResultRow, Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import type { KeptId } from './kept-ids.ts';

const selectKeptIds: Statement = {
  name: 'select_kept_ids',
  text: `select kept_ids.segment, kept_ids.index, kept_ids.id from kept_ids where id = any($1) and (
      kept_ids.segment = any($3::int8[]) or exists (
        select from extents join tables on tables.id = extents.table_id and tables.generation = extents.generation
        where extents.segment = kept_ids.segment and extents.table_id = any($2::uuid[])))`,
};

export interface WantedKeptIds {
  readonly ids: readonly string[];
  /** The tables whose present generations are looked at, and segments beside those that they show. */
  readonly tableIds: readonly string[];
  readonly segments: readonly bigint[];
}

/** The rows that came with one of these IDs. */
export async function findKeptIds(tx: Tx, { ids, tableIds, segments }: WantedKeptIds): Promise<KeptId[]> {
  const { rows } = await tx.query(selectKeptIds, [ids, tableIds, segments]);
  return rows.map(toKeptId);
}

function toKeptId([segment, index, id]: ResultRow): KeptId {
  return { segment, index, id };
}

const insertKeptIds = new RowsStatement<KeptId>(
  'insert_kept_ids',
  [['int8', ({ segment }) => segment], ['int4', ({ index }) => index], ['lines', ({ id }) => id]],
  (rows) => `insert into kept_ids (segment, index, id) select * from ${rows} as given`,
);

export function storeKeptIds(ids: readonly KeptId[]): BoundStatement {
  return insertKeptIds.bind(ids);
}
