/** Stashes and their chunks, as a batch reads and writes them. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { ResultRow, Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import { decodeProfile, encodeProfile } from '../../src/values/profile-codec.ts';
import type { Chunk, ChunkBlock, ChunkSize, Stash } from './stash.ts';
import { numericOrderOf } from './stash-order.ts';

/** A stash by the name that a team gave it. */
export interface StashName {
  readonly teamId: string;
  readonly stashId: string;
}

/** The name as a key of maps. */
export function nameOfStash(teamId: string, stashId: string): string {
  return `${teamId} ${stashId}`;
}

const selectStashes = new RowsStatement<StashName>(
  'select_stashes',
  [['uuid', ({ teamId }) => teamId], ['text', ({ stashId }) => stashId]],
  (rows) => `select stashes.key, stashes.team_id, stashes.stash_id, stashes.created, stashes.created_at, stashes.expires_at,
      stashes.chunks, stashes.rows, stashes.profiled_columns, stashes.words, stashes.ended_at
    from ${rows} as wanted(team_id, stash_id)
    join lateral (
      select * from stashes where stashes.team_id = wanted.team_id and stashes.stash_id = wanted.stash_id
      order by created desc limit 1
    ) stashes on true`,
);

/** The last stashes of these names, also those that have ended. */
export async function findStashes(tx: Tx, names: readonly StashName[]): Promise<Stash[]> {
  const { statement, values } = selectStashes.bind(names);
  const { rows } = await tx.query(statement, values);
  return rows.map(([key, teamId, stashId, created, createdAt, expiresAt, chunks, rows, profiledColumns, words, endedAt]) => ({
    key, teamId, stashId, created, createdAt: Number(createdAt), expiresAt: Number(expiresAt), chunks, rows, profiledColumns, words,
    endedAt: endedAt === null ? null : Number(endedAt),
  }));
}

export interface ChunkName extends StashName {
  readonly serial: string;
}

const selectChunks = new RowsStatement<ChunkName>(
  'select_chunks',
  [['uuid', ({ teamId }) => teamId], ['text', ({ stashId }) => stashId], ['text', ({ serial }) => serial]],
  (rows) => `select blocks.stash, blocks.serial, blocks.chunk, sum(blocks.rows)::int4, sum(blocks.profiled_columns)::int4
    from ${rows} as wanted(team_id, stash_id, serial)
    join lateral (
      select key from stashes where stashes.team_id = wanted.team_id and stashes.stash_id = wanted.stash_id
      order by created desc limit 1
    ) stashes on true
    join chunk_blocks blocks on blocks.stash = stashes.key and blocks.serial = wanted.serial
    group by blocks.stash, blocks.serial, blocks.chunk`,
);

/** What is stored under these serials of the last stashes of these names. */
export async function findChunks(tx: Tx, names: readonly ChunkName[]): Promise<ChunkSize[]> {
  const { statement, values } = selectChunks.bind(names);
  const { rows } = await tx.query(statement, values);
  return rows.map(([stash, serial, key, rows, profiledColumns]) => ({ stash, serial, key, rows, profiledColumns }));
}

/** A block of a chunk, and where it stands in its stash. */
export interface PlacedBlock extends ChunkBlock {
  readonly serial: string;
  readonly number: number;
}

/** How many blocks are fetched at once. */
const blocksAtOnce = 100;

const blockColumns = 'serial, number, segment, profile, ids';

const selectBlocksByNumber: Statement = {
  name: 'select_chunk_blocks_by_number',
  text: `select ${blockColumns} from chunk_blocks where stash = $1 and (numeric_order, serial, number) > ($2, $3, $4)
    order by numeric_order, serial, number limit ${blocksAtOnce}`,
};

const selectBlocksByText: Statement = {
  name: 'select_chunk_blocks_by_text',
  text: `select ${blockColumns} from chunk_blocks where stash = $1 and (serial, number) > ($2, $3)
    order by serial, number limit ${blocksAtOnce}`,
};

/** The blocks of a stash in their order, some at a time; `asNumbers`: whether its serials are in the order of numbers. */
export async function* findBlocks(tx: Tx, stash: bigint, asNumbers: boolean): AsyncGenerator<readonly PlacedBlock[]> {
  let [serial, number] = ['', -1];
  for (;;) {
    const { rows } = asNumbers
      ? await tx.query(selectBlocksByNumber, [stash, serial === '' ? '' : numericOrderOf(serial), serial, number])
      : await tx.query(selectBlocksByText, [stash, serial, number]);
    const blocks = rows.map(toBlock);
    if (blocks.length > 0) yield blocks;
    if (blocks.length < blocksAtOnce) return;
    ({ serial, number } = blocks.at(-1)!);
  }
}

function toBlock([serial, number, segment, profile, ids]: ResultRow): PlacedBlock {
  return { serial, number, segment, profile: decodeProfile(JSON.parse(profile)), ids };
}

const upsertStashes = new RowsStatement<Stash>(
  'upsert_stashes',
  [
    ['int8', (stash) => stash.key], ['uuid', (stash) => stash.teamId], ['text', (stash) => stash.stashId],
    ['int8', (stash) => stash.created], ['int8', (stash) => stash.createdAt], ['int8', (stash) => stash.expiresAt],
    ['int4', (stash) => stash.chunks], ['int4', (stash) => stash.rows], ['int4', (stash) => stash.profiledColumns],
    ['int4', (stash) => stash.words], ['int8', (stash) => stash.endedAt],
  ],
  (rows) => `insert into stashes (key, team_id, stash_id, created, created_at, expires_at, chunks, rows, profiled_columns, words, ended_at)
    select * from ${rows} as given
    on conflict (key) do update set chunks = excluded.chunks, rows = excluded.rows, profiled_columns = excluded.profiled_columns,
      words = excluded.words, ended_at = excluded.ended_at`,
);

export function storeStashes(stashes: readonly Stash[]): BoundStatement {
  return upsertStashes.bind(stashes);
}

interface BlockOfChunk {
  readonly chunk: Chunk;
  readonly number: number;
  readonly block: ChunkBlock;
}

const insertBlocks = new RowsStatement<BlockOfChunk>(
  'insert_chunk_blocks',
  [
    ['int8', ({ chunk }) => chunk.key], ['int4', ({ number }) => number], ['int8', ({ chunk }) => chunk.stash],
    ['text', ({ chunk }) => chunk.serial], ['text', ({ chunk }) => numericOrderOf(chunk.serial)],
    ['int8', ({ block }) => block.segment], ['int4', ({ block }) => block.profile.rows],
    ['int4', ({ block }) => block.profile.columns.length],
    ['text', ({ block }) => (block.ids === null ? null : Buffer.from(block.ids).toString('base64'))],
    ['lines', ({ block }) => JSON.stringify(encodeProfile(block.profile))],
  ],
  (rows) => `insert into chunk_blocks (chunk, number, stash, serial, numeric_order, segment, rows, profiled_columns, ids, profile)
    select chunk, number, stash, serial, numeric_order, segment, rows, profiled_columns, decode(ids, 'base64'), profile
    from ${rows} as given(chunk, number, stash, serial, numeric_order, segment, rows, profiled_columns, ids, profile)`,
);

export function storeChunks(chunks: readonly Chunk[]): BoundStatement {
  return insertBlocks.bind(chunks.flatMap((chunk) => chunk.blocks.map((block, number) => ({ chunk, number, block }))));
}

const endChunks = new RowsStatement<bigint>(
  'end_chunks',
  [['int8', (chunk) => chunk]],
  (rows) => `update chunk_blocks set stash = null from ${rows} as replaced(chunk) where chunk_blocks.chunk = replaced.chunk`,
);

/** Chunks whose place others have taken. */
export function storeReplaced(chunks: readonly bigint[]): BoundStatement {
  return endChunks.bind(chunks);
}
