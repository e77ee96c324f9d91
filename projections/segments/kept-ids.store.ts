/** The identities that rows of segments came with, as a batch reads and writes them. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { PipelinedClient, ResultRow, Statement } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import type { KeptId } from '../kept-ids.ts';

type Tx = Pick<PipelinedClient, 'query'>;

const selectKeptIds: Statement = {
  name: 'select_kept_ids',
  text: 'select segment, index, id from kept_ids where id = any($1)',
};

/** Every row of a segment that came with one of these IDs. */
export async function findKeptIds(tx: Tx, ids: readonly string[]): Promise<KeptId[]> {
  const { rows } = await tx.query(selectKeptIds, [ids]);
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
