import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/database/stored-table.ts';

/** A stash, from its first chunk on until a while after its end (docs/spec/decisions.md 3 and 6). Of one name there may be several, one after the other. */
export const StashEntity = defineEntity({
  name: 'Stash',
  tableName: 'stashes',
  properties: {
    /** A local number, like a segment's. */
    key: p.bigint().primary().autoincrement(false),
    teamId: p.uuid(),
    /** The name that the client gave it. */
    stashId: p.string().columnType('text collate "C"'),
    /** The version of the event that created it, and the time of its record in milliseconds. */
    created: p.bigint(),
    createdAt: p.bigint('number'),
    /** The time from which on it cannot be imported any more. */
    expiresAt: p.bigint('number'),
    chunks: p.integer(),
    rows: p.integer(),
    /** The columns of the profiles of its blocks. */
    profiledColumns: p.integer(),
    /** How many of its serials are no integers: only where there are none, the others are in the order of numbers. */
    words: p.integer(),
    /** When it was deleted or expired; null while it is there. */
    endedAt: p.bigint('number').nullable(),
    /** Whether garbage collection has removed the chunks of one that has ended. */
    cleared: p.boolean().default(false),
  },
  indexes: [{ properties: ['teamId', 'stashId', 'created'] }],
});

/** As batches read and write them. */
export const storedStashes = StoredTable.of(StashEntity, { without: ['cleared'] });

/** The blocks of a chunk, at least one; one without rows has no segment. A row is never changed, but for its end. */
export const ChunkBlockEntity = defineEntity({
  name: 'ChunkBlock',
  tableName: 'chunk_blocks',
  properties: {
    /** A local number of the chunk: another chunk under the same serial has another one. */
    chunk: p.bigint().primary().autoincrement(false),
    /** Its place in the chunk, from 0. */
    number: p.integer().primary().autoincrement(false),
    /** The stash that the chunk is part of; null once another chunk has taken its place. */
    stash: p.bigint().nullable(),
    serial: p.string().columnType('text collate "C"'),
    /** Orders serials that are integers as numbers; null for those that are none (stash-order.ts). */
    numericOrder: p.string().columnType('text collate "C"').nullable(),
    segment: p.bigint().nullable(),
    rows: p.integer(),
    profiledColumns: p.integer(),
    /** The encoded profile (src/values). */
    profile: p.type(LineText),
    /** The runs of the row IDs that its rows came with (src/events/row-id-runs.ts); null where they have none. */
    ids: p.blob().nullable(),
  },
  indexes: [
    { properties: ['stash', 'serial', 'number'] },
    { properties: ['stash', 'numericOrder', 'serial', 'number'] },
    { properties: ['segment'] },
  ],
});

export const storedChunkBlocks = StoredTable.of(ChunkBlockEntity);
