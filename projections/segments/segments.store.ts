/** Segments and the blocks of large bodies, as a batch reads and writes them. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import { decodeProfile, encodeProfile } from '../../src/values/profile-codec.ts';
import type { BodyBlock } from './body-block.ts';

const selectSegments: Statement = {
  name: 'select_segments',
  text: `select id, key from segments where id = any($1::uuid[])`,
};

/** The local keys of the segments that are written, by their IDs. */
export async function findSegmentKeys(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await tx.query(selectSegments, [ids]);
  return new Map(rows.map(([id, key]) => [id, key]));
}

const selectBodyBlocks: Statement = {
  name: 'select_body_blocks',
  text: `select body_id, number, team_id, segment, profile, ids, time from body_blocks
    where body_id = any($1::uuid[]) order by body_id, number`,
};

export async function findBodyBlocks(tx: Tx, bodyIds: readonly string[]): Promise<BodyBlock[]> {
  const { rows } = await tx.query(selectBodyBlocks, [bodyIds]);
  return rows.map(([bodyId, number, teamId, segment, profile, ids, time]) => ({
    bodyId, number, teamId, segment, profile: decodeProfile(JSON.parse(profile)), ids, time: Number(time),
  }));
}

const insertBodyBlocks = new RowsStatement<BodyBlock>(
  'insert_body_blocks',
  [
    ['uuid', (block) => block.bodyId], ['int4', (block) => block.number], ['uuid', (block) => block.teamId],
    ['int8', (block) => block.segment], ['text', (block) => JSON.stringify(encodeProfile(block.profile))],
    ['text', (block) => (block.ids === null ? null : Buffer.from(block.ids).toString('base64'))],
    ['int8', (block) => block.time],
  ],
  (rows) => `insert into body_blocks (body_id, number, team_id, segment, profile, ids, time)
    select body_id, number, team_id, segment, profile, decode(ids, 'base64'), time
    from ${rows} as given(body_id, number, team_id, segment, profile, ids, time)`,
);

export function storeBodyBlocks(blocks: readonly BodyBlock[]): BoundStatement {
  return insertBodyBlocks.bind(blocks);
}
