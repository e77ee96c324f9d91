/** Reads and writes stashes and their chunks. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { RowsStatement } from '../../src/storage/database/rows-statement.ts';
import type { RowOf } from '../../src/storage/database/stored-table.ts';
import { parseProfile, profileText } from '../../src/language/values/profile-codec.ts';
import { storedChunkBlocks, storedStashes, type ChunkBlockEntity } from './stash.entity.ts';
import { TimeSlices } from '../../src/language/time-slices.ts';
import { numericOrderOf } from './stash-order.ts';
import type { Chunk, ChunkBlock, ChunkSize, Stash } from './stash.ts';

/** Names a stash: its team, and its name in the team (src/language/events/stash-name.ts). */
export type StashName = Pick<Stash, 'teamId' | 'stashId'>;

/** The name as a map key. */
export function nameOfStash(teamId: string, stashId: string): string {
  return `${teamId} ${stashId}`;
}

/** SQL: the newest stash of a wanted name. */
const lastOfName = (columns: string): string => `select ${columns} from stashes
  where stashes.team_id = wanted.team_id and stashes.stash_id = wanted.stash_id order by created desc limit 1`;

const selectStashes = new RowsStatement<StashName, Stash>(
  'select_stashes',
  storedStashes.parameters('teamId', 'stashId'),
  (rows) =>
    `select ${storedStashes.columns()} from ${rows('wanted')} join lateral (${lastOfName('*')}) stashes on true`,
);

/** The newest stashes of these names, even if they have ended. */
export async function findStashes(tx: Tx, names: readonly StashName[]): Promise<Stash[]> {
  return selectStashes.find(tx, names);
}

export interface ChunkName extends StashName {
  readonly serial: string;
}

const selectChunks = new RowsStatement<ChunkName, ChunkSize>(
  'select_chunks',
  { ...storedStashes.parameters('teamId', 'stashId'), ...storedChunkBlocks.parameters('serial') },
  (rows) => `select blocks.stash, blocks.serial, blocks.chunk as key, sum(blocks.rows)::int4 as rows,
      sum(blocks.profiled_columns)::int4 as "profiledColumns"
    from ${rows('wanted')} join lateral (${lastOfName('key')}) stashes on true
    join chunk_blocks blocks on blocks.stash = stashes.key and blocks.serial = wanted.serial
    group by blocks.stash, blocks.serial, blocks.chunk`,
);

/** The stored chunks with these serials in the newest stashes of these names. */
export async function findChunks(tx: Tx, names: readonly ChunkName[]): Promise<ChunkSize[]> {
  return selectChunks.find(tx, names);
}

/** A block of a chunk, and its place in the stash. */
interface PlacedBlock extends ChunkBlock {
  readonly serial: string;
  readonly number: number;
}

type ChunkBlockRow = RowOf<typeof ChunkBlockEntity>;

const placedColumns = storedChunkBlocks.only('serial', 'number', 'segment', 'profile', 'ids').columns();

/** A block as an import reads it. */
type PlacedRow = Pick<ChunkBlockRow, 'serial' | 'number' | 'segment' | 'profile' | 'ids'>;

/**
 * How many blocks are fetched at once, and how many columns their profiles may have in total, except the first block's.
 */
const blocksAtOnce = 100;
const columnsAtOnce = 20_000;

/** SQL: the blocks of a stash that follow a place in an order. */
const blocksAfter = (order: string, place: string): string => `select ${placedColumns} from (
    select *, sum(profiled_columns) over (order by ${order}) - profiled_columns as columns_before from (
      select * from chunk_blocks where stash = $1 and (${order}) > (${place}) order by ${order} limit ${blocksAtOnce}
    ) next
  ) chunk_blocks where columns_before < ${columnsAtOnce} order by ${order}`;

const selectBlocksByNumber: Statement<PlacedRow> = {
  name: 'select_chunk_blocks_by_number',
  text: blocksAfter('numeric_order, serial, number', '$2, $3, $4'),
};

const selectBlocksByText: Statement<PlacedRow> = {
  name: 'select_chunk_blocks_by_text',
  text: blocksAfter('serial, number', '$2, $3'),
};

/** The blocks of a stash in order; `asNumbers`: whether its serials sort as numbers. */
export async function* findBlocks(tx: Tx, stash: bigint, asNumbers: boolean): AsyncGenerator<PlacedBlock> {
  const slices = new TimeSlices();
  let [serial, number] = ['', -1];
  for (;;) {
    const { rows } = asNumbers
      ? await tx.query(selectBlocksByNumber, [stash, serial === '' ? '' : numericOrderOf(serial), serial, number])
      : await tx.query(selectBlocksByText, [stash, serial, number]);
    if (rows.length === 0) return;
    for (const block of rows) {
      await slices.next();
      yield { ...block, profile: parseProfile(block.profile) };
    }
    ({ serial, number } = rows.at(-1)!);
  }
}

/** `insertStashes` stores new stashes, and fails if a key is taken. `updateStashes` stores existing ones. */
export const insertStashes = storedStashes.insert('insert_stashes');
export const updateStashes = storedStashes.update('update_stashes', [
  'chunks',
  'rows',
  'profiledColumns',
  'words',
  'endedAt',
]);

export const insertChunkBlocks = storedChunkBlocks.insert('insert_chunk_blocks');

/** The rows that store the blocks of a chunk. */
export function chunkBlockRows({ key, stash, serial, blocks }: Chunk): ChunkBlockRow[] {
  return blocks.map(({ segment, profile, ids }, number) => ({
    chunk: key,
    number,
    stash,
    serial,
    numericOrder: numericOrderOf(serial),
    segment,
    rows: profile.rows,
    profiledColumns: profile.columns.length,
    profile: profileText(profile),
    ids,
  }));
}

/** Detaches replaced chunks from their stash. */
export const endChunks = new RowsStatement<{ readonly chunk: bigint }>(
  'end_chunks',
  storedChunkBlocks.parameters('chunk'),
  (rows) => `update chunk_blocks set stash = null from ${rows('replaced')} where chunk_blocks.chunk = replaced.chunk`,
);
