import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/database/stored-table.ts';

export const TableEntity = defineEntity({
  name: 'Table',
  tableName: 'tables',
  properties: {
    id: p.uuid().primary(),
    teamId: p.uuid(),
    name: p.text(),
    /** The version of the event that created it, of the last that changed it, and of its last overwrite. */
    created: p.bigint(),
    /** The time of that event's record, in milliseconds. */
    createdAt: p.bigint('number'),
    version: p.bigint(),
    generation: p.bigint(),
    /** The version of its schema, and of the last widening of a column: bodies stored before that are converted. */
    schemaVersion: p.bigint(),
    widened: p.bigint(),
    rows: p.bigint('number'),
    /** Bytes of the longest row it ever held: how many rows may be read at once. */
    rowBytesMax: p.integer(),
    /** The open tail extent, where small adds go. */
    tail: p.bigint().nullable(),
    /** Nobody sees it any more. What it had is left where it is, and shown by nothing that is seen. */
    deleted: p.boolean(),
    /** Whether rows of the present generation retain row IDs of earlier ones. */
    retainsIds: p.boolean(),
  },
  indexes: [{ properties: ['teamId', 'created', 'id'] }],
});

export const storedTables = StoredTable.of(TableEntity);

/** The schemas a table has had; a row is never changed. */
export const TableSchemaEntity = defineEntity({
  name: 'TableSchema',
  tableName: 'table_schemas',
  properties: {
    tableId: p.uuid().primary(),
    version: p.bigint().primary().autoincrement(false),
    /** The encoded columns (src/values/table-schema.ts). */
    columns: p.text(),
  },
});

export const storedSchemas = StoredTable.of(TableSchemaEntity);

/** The use of a segment by a table, at a place in its order, since a version (ARCHITECTURE.md, "extent"). */
export const ExtentEntity = defineEntity({
  name: 'Extent',
  tableName: 'extents',
  properties: {
    /** A local number, like a segment's. */
    key: p.bigint().primary().autoincrement(false),
    tableId: p.uuid(),
    version: p.bigint(),
    ordinal: p.integer(),
    generation: p.bigint(),
    /** The schema under which its rows were decided, and whether scalars were wrapped into array columns then. */
    schemaVersion: p.bigint(),
    wrap: p.boolean(),
    /** The bodies are stored as the schema of this version presents them; null: as they were received. */
    presented: p.bigint().nullable(),
    /** They were received as the texts of cells (CSV, TSV), and not as values of JSON. */
    cells: p.boolean(),
    /** Whether compaction has put its rows beside those of others. */
    merged: p.boolean().default(false),
    /** Which of its rows retain the row IDs that stand in `retained_ids`, and not those of their places (retained-places.ts). */
    retained: p.blob().nullable(),
    segment: p.bigint(),
    /** Where its rows begin in the segment, and how many there are. */
    first: p.integer(),
    rows: p.integer(),
    bytes: p.integer(),
    /** Whether any row of it was ever patched or deleted, and how many are deleted. */
    changed: p.boolean(),
    deleted: p.integer(),
  },
  uniques: [{ properties: ['tableId', 'version', 'ordinal'] }],
  indexes: [{ properties: ['segment'] }],
});

export const storedExtents = StoredTable.of(ExtentEntity, { without: ['merged'] });

/** A generation of a table that an overwrite has replaced: continuations that began in it go on in it (docs/spec/decisions.md 3). */
export const GenerationEntity = defineEntity({
  name: 'Generation',
  tableName: 'generations',
  properties: {
    tableId: p.uuid().primary(),
    version: p.bigint().primary().autoincrement(false),
    /** The version of the overwrite, and the time of its record in milliseconds. */
    ended: p.bigint(),
    endedAt: p.bigint('number'),
    /** What its rows were read by in the end. */
    schemaVersion: p.bigint(),
    widened: p.bigint(),
    /** Whether garbage collection has ended it for readers too, and has removed the changes of its rows. */
    expired: p.boolean().default(false),
    cleared: p.boolean().default(false),
  },
});

export const storedGenerations = StoredTable.of(GenerationEntity, { without: ['expired', 'cleared'] });

/** The newest body of a patched row, or its deletion (null). */
export const ChangeEntity = defineEntity({
  name: 'Change',
  tableName: 'changes',
  properties: {
    extent: p.bigint().primary().autoincrement(false),
    index: p.integer().primary().autoincrement(false),
    version: p.bigint(),
    body: p.type(LineText).nullable(),
  },
});

export const storedChanges = StoredTable.of(ChangeEntity);

/** The apps a table was linked to when it was created. */
export const AppLinkEntity = defineEntity({
  name: 'AppLink',
  tableName: 'app_links',
  properties: {
    tableId: p.uuid().primary(),
    appId: p.string().primary().columnType('text'),
  },
});

export const storedAppLinks = StoredTable.of(AppLinkEntity);
