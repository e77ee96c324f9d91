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

/** Some rows of a segment that follow each other. */
export interface Places {
  readonly segment: bigint;
  readonly first: number;
  readonly count: number;
}

const selectKeptPlaces = new RowsStatement<Places>(
  'select_kept_places',
  [['int8', ({ segment }) => segment], ['int4', ({ first }) => first], ['int4', ({ count }) => count]],
  (rows) => `select found.segment, found.index, found.id from ${rows} as wanted(segment, first, count)
    join lateral (
      select segment, index, id from kept_ids where kept_ids.segment = wanted.segment
        and kept_ids.index >= wanted.first and kept_ids.index < wanted.first + wanted.count order by index limit 1
    ) found on true`,
);

/** The first row of each of these that came with an ID; none where none did. */
export async function findKeptPlaces(tx: Tx, places: readonly Places[]): Promise<KeptId[]> {
  const { statement, values } = selectKeptPlaces.bind(places);
  const { rows } = await tx.query(statement, values);
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
