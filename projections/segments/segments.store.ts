/** Reads and writes segments and the blocks of large bodies. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { parseProfile, profileText } from '../../src/language/values/profile-codec.ts';
import { TimeSlices } from '../../src/language/time-slices.ts';
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

/** How many blocks of a body are fetched at once. */
const blocksAtOnce = 16;

const selectBodyBlocks: Statement<BodyBlockRow> = {
  name: 'select_body_blocks',
  text: `select ${storedBodyBlocks.columns()} from body_blocks where body_id = $1 and number > $2 order by number limit ${blocksAtOnce}`,
};

/** The blocks with this body ID, of any team, in order. */
export async function* findBodyBlocks(tx: Tx, bodyId: string): AsyncGenerator<BodyBlock> {
  const slices = new TimeSlices();
  for (let last = -1; ;) {
    const { rows } = await tx.query(selectBodyBlocks, [bodyId, last]);
    for (const block of rows) {
      await slices.next();
      yield { ...block, profile: parseProfile(block.profile) };
    }
    if (rows.length < blocksAtOnce) return;
    last = rows.at(-1)!.number;
  }
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
