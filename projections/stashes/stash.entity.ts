import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/storage/database/stored-table.ts';

/**
 * A stash, from its first chunk until a while after its end (docs/spec/decisions.md 3 and 6). Several stashes may use a
 * name one after another.
 */
export const StashEntity = defineEntity({
  name: 'Stash',
  tableName: 'stashes',
  properties: {
    /** A local key, like a segment's. */
    key: p.bigint().primary().autoincrement(false),
    teamId: p.uuid(),
    /**
     * Its name: the stash ID that the client gave, and the app of the client's token
     * (src/language/events/stash-name.ts).
     */
    stashId: p.string().columnType('text collate "C"'),
    /** The version of the event that created it, and the time of its record in milliseconds. */
    created: p.bigint(),
    createdAt: p.bigint('number'),
    /** From this time on it cannot be imported. */
    expiresAt: p.bigint('number'),
    chunks: p.integer(),
    rows: p.integer(),
    /** The number of columns in the profiles of its blocks, added up. */
    profiledColumns: p.integer(),
    /** How many of its serials are not integers. If none, chunks are in numeric order. */
    words: p.integer(),
    /** When it was deleted or expired; null before that. */
    endedAt: p.bigint('number').nullable(),
    /** Whether garbage collection has removed its chunks after its end. */
    cleared: p.boolean().default(false),
  },
  indexes: [{ properties: ['teamId', 'stashId', 'created'] }],
});

/** The columns that batches read and write. */
export const storedStashes = StoredTable.of(StashEntity, { without: ['cleared'] });

/**
 * The blocks of a chunk, at least one. A block without rows has no segment. A block is never updated, except that
 * `stash` changes when the chunk is replaced.
 */
export const ChunkBlockEntity = defineEntity({
  name: 'ChunkBlock',
  tableName: 'chunk_blocks',
  properties: {
    /** The chunk's local key: a chunk that replaces another under the same serial has a different one. */
    chunk: p.bigint().primary().autoincrement(false),
    /** Its place in the chunk, from 0. */
    number: p.integer().primary().autoincrement(false),
    /** The stash that the chunk belongs to; null once the chunk is replaced. */
    stash: p.bigint().nullable(),
    serial: p.string().columnType('text collate "C"'),
    /** Sorts integer serials as numbers; null for other serials (stash-order.ts). */
    numericOrder: p.string().columnType('text collate "C"').nullable(),
    segment: p.bigint().nullable(),
    rows: p.integer(),
    profiledColumns: p.integer(),
    /** The encoded profile (src/language/values). */
    profile: p.type(LineText),
    /**
     * The runs of the row IDs with which its rows came (src/language/events/row-id-runs.ts); null if they came without.
     */
    ids: p.blob().nullable(),
  },
  indexes: [
    { properties: ['stash', 'serial', 'number'] },
    { properties: ['stash', 'numericOrder', 'serial', 'number'] },
    { properties: ['segment'] },
  ],
});

export const storedChunkBlocks = StoredTable.of(ChunkBlockEntity);
