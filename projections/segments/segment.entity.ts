import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/database/stored-table.ts';

/** An immutable run of rows as they were received (ARCHITECTURE.md, "segment"); a tail grows at its end until it closes. */
export const SegmentEntity = defineEntity({
  name: 'Segment',
  tableName: 'segments',
  properties: {
    /** A local number: short keys make reads fast. It is no part of the state that replay compares. */
    key: p.bigint().primary().autoincrement(false),
    /** The ID that stands in the segment's event; null for tails. */
    id: p.uuid().unique().nullable(),
    rows: p.integer(),
    /**
     * Since when it may be that nothing shows it, by the clock of Postgres: since it was written, or something stopped
     * showing it. Null once garbage collection has seen that something does.
     */
    idleSince: p.datetime().defaultRaw('now()').nullable(),
    /** Whether its rows are gone, because nothing shows them any more. */
    emptied: p.boolean().default(false),
    /** Whether nobody can find it any more: its rows are to be removed, and then it. */
    dropped: p.boolean().default(false),
  },
});

/** The rows of segments: the JSON text of each, its columns in order. Never updated. */
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

/** The row IDs that rows of a segment came with (`$rowID`): extents say which of them their rows retain. Never updated. */
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
    /** The encoded profile (src/values). */
    profile: p.text(),
    /** The runs of the row IDs that its rows came with (src/events/row-id-runs.ts); null where they have none. */
    ids: p.blob().nullable(),
    /** The record's time, in milliseconds. */
    time: p.bigint('number'),
  },
});

export const storedBodyBlocks = StoredTable.of(BodyBlockEntity);
