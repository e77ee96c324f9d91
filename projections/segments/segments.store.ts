/** Reads and writes segments and the blocks of large bodies. */
import type { Statement, Tx } from '../../src/database/pipelined-client.ts';
import { parseProfile, profileText } from '../../src/values/profile-codec.ts';
import type { BodyBlock, OpenBody } from './body-block.ts';
import { storedBodyBlocks, storedOpenBodies } from './segment.entity.ts';

const selectSegments: Statement<{ id: string; key: bigint }> = {
  name: 'select_segments',
  text: 'select id, key from segments where id = any($1::uuid[])',
};

/** The local keys of the segments that are written, by segment ID. */
export async function findSegmentKeys(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await tx.query(selectSegments, [ids]);
  return new Map(rows.map(({ id, key }) => [id, key]));
}

/** A block as stored. */
type BodyBlockRow = Omit<BodyBlock, 'profile'> & { readonly profile: string };

const selectBodyBlocks: Statement<BodyBlockRow> = {
  name: 'select_body_blocks',
  text: `select ${storedBodyBlocks.columns()} from body_blocks where body_id = any($1::uuid[]) order by body_id, number`,
};

export async function findBodyBlocks(tx: Tx, bodyIds: readonly string[]): Promise<BodyBlock[]> {
  const { rows } = await tx.query(selectBodyBlocks, [bodyIds]);
  return rows.map((block) => ({ ...block, profile: parseProfile(block.profile) }));
}

const selectOpenBodies: Statement<OpenBody> = {
  name: 'select_open_bodies',
  text: `select ${storedOpenBodies.columns()} from open_bodies where body_id = any($1::uuid[])`,
};

export async function findOpenBodies(tx: Tx, bodyIds: readonly string[]): Promise<OpenBody[]> {
  return (await tx.query(selectOpenBodies, [bodyIds])).rows;
}

export const insertOpenBodies = storedOpenBodies.insert('insert_open_bodies');
export const deleteOpenBodies = storedOpenBodies.delete('delete_open_bodies');

export const insertBodyBlocks = storedBodyBlocks.insert('insert_body_blocks');

export function bodyBlockRow(block: BodyBlock): BodyBlockRow {
  return { ...block, profile: profileText(block.profile) };
}
