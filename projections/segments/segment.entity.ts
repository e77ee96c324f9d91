import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/storage/database/stored-table.ts';

/**
 * An immutable run of rows as they were received (ARCHITECTURE.md, "segment"); a tail grows at its end until it closes.
 */
export const SegmentEntity = defineEntity({
  name: 'Segment',
  tableName: 'segments',
  properties: {
    /** A local key: short keys make reads fast. Replay does not compare it. */
    key: p.bigint().primary().autoincrement(false),
    /** The segment's ID in its event; null for tails, and for segments that garbage collection has begun to drop. */
    id: p.uuid().unique().nullable(),
    rows: p.integer(),
    /**
     * Since when the segment may be unused, by the clock of Postgres: set when it is written, and when an extent, a
     * stash or a body stops using it. Null once garbage collection has found it in use.
     */
    idleSince: p.datetime().defaultRaw('now()').nullable(),
    /** Whether its rows have been removed because readers cannot reach them. */
    emptied: p.boolean().default(false),
    /** Whether look-ups no longer find the segment. Garbage collection removes its rows, then the segment. */
    dropped: p.boolean().default(false),
  },
});

/**
 * The rows of segments: the JSON text of each, its columns in order. Never updated, except that bodies are erased
 * (../tables/replaced-bodies.garbage.ts).
 */
export const SegmentRowEntity = defineEntity({
  name: 'SegmentRow',
  tableName: 'segment_rows',
  properties: {
    segment: p.bigint().primary().autoincrement(false),
    index: p.integer().primary().autoincrement(false),
    /** Only in tails, where each row has a version of its own. */
    version: p.bigint().nullable(),
    body: p.type(LineText),
  },
});

export const storedSegmentRows = StoredTable.of(SegmentRowEntity);

/**
 * The row IDs (`$rowID`) with which rows of a segment came. An extent records which of its rows retain theirs. Never
 * updated.
 */
export const RetainedIdEntity = defineEntity({
  name: 'RetainedId',
  tableName: 'retained_ids',
  properties: {
    segment: p.bigint().primary().autoincrement(false),
    index: p.integer().primary().autoincrement(false),
    /** A row ID. */
    id: p.type(LineText).columnType('text collate "C"').index(),
  },
});

export const storedRetainedIds = StoredTable.of(RetainedIdEntity);

/** The blocks of a body that is larger than one block, until the closing event uses them. */
export const BodyBlockEntity = defineEntity({
  name: 'BodyBlock',
  tableName: 'body_blocks',
  properties: {
    bodyId: p.uuid().primary(),
    number: p.integer().primary().autoincrement(false),
    teamId: p.uuid(),
    segment: p.bigint(),
    /** The encoded profile (src/language/values). */
    profile: p.text(),
    /**
     * The runs of the row IDs with which its rows came (src/language/events/row-id-runs.ts); null if they came without.
     */
    ids: p.blob().nullable(),
    /** The record's time, in milliseconds. */
    time: p.bigint('number'),
  },
});

export const storedBodyBlocks = StoredTable.of(BodyBlockEntity);

/** The bodies that wait for their closing event. */
export const OpenBodyEntity = defineEntity({
  name: 'OpenBody',
  tableName: 'open_bodies',
  properties: {
    bodyId: p.uuid().primary(),
    teamId: p.uuid(),
    /** The time of the record that opened it, in milliseconds. */
    openedAt: p.bigint('number').index(),
  },
});

export const storedOpenBodies = StoredTable.of(OpenBodyEntity);
