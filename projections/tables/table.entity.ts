import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/storage/database/stored-table.ts';

export const TableEntity = defineEntity({
  name: 'Table',
  tableName: 'tables',
  properties: {
    id: p.uuid().primary(),
    teamId: p.uuid(),
    name: p.text(),
    /** The version of the event that created it. */
    created: p.bigint(),
    /** The time of that event's record, in milliseconds. */
    createdAt: p.bigint('number'),
    /** The version of the last event that changed the table, and that of its last overwrite (or its creation). */
    version: p.bigint(),
    generation: p.bigint(),
    /**
     * The version of its schema, and that of the last change of the schema after which older bodies read differently.
     * Bodies that were stored before that change are converted.
     */
    schemaVersion: p.bigint(),
    widened: p.bigint(),
    rows: p.bigint('number'),
    /** Bytes of the longest row that the table ever held. This bounds how many rows may be read at once. */
    rowBytesMax: p.integer(),
    /** The open tail extent, to which small adds go. */
    tail: p.bigint().nullable(),
    /** Hidden from everybody. Its rows stay in place until garbage collection removes them. */
    deleted: p.boolean(),
    /** Whether rows of the present generation retain row IDs of earlier ones. */
    retainsIds: p.boolean(),
    /** The IDs of the columns of its key, as a JSON array; null: it has none. */
    keyColumns: p.text().nullable(),
    /** The version of the event that began the index of its key. */
    keySince: p.bigint().nullable(),
    /**
     * Whether the table is deleted and all its generations are forgotten. Garbage collection then removes its remains.
     */
    forgotten: p.boolean().default(false),
  },
});

export const storedTables = StoredTable.of(TableEntity, { without: ['forgotten'] });

/** The schemas of a table: the present one, those of generations that can be read, and earlier ones for some hours. */
export const TableSchemaEntity = defineEntity({
  name: 'TableSchema',
  tableName: 'table_schemas',
  properties: {
    tableId: p.uuid().primary(),
    version: p.bigint().primary().autoincrement(false),
    /** The encoded columns (src/language/values/table-schema.ts). */
    columns: p.text(),
    /**
     * When garbage collection next checks whether the schema is in use, by the clock of Postgres, and whether the last
     * check found it unused.
     */
    lookAt: p.datetime().defaultRaw("now() + interval '6 hours'"),
    superseded: p.boolean().default(false),
  },
});

export const storedSchemas = StoredTable.of(TableSchemaEntity, { without: ['lookAt', 'superseded'] });

/**
 * The interval of checks for bodies to erase, in milliseconds by the clock of Postgres: from the storing of an extent,
 * and from each check, to the next check. The first check is not at once, because rows are patched most when they are
 * new, and because a check makes the batches in preparation begin again.
 */
export const eraseInterval = 6 * 3_600_000;

/** The rows of a segment that a table shows, at a place in its order, since a version (ARCHITECTURE.md, "extent"). */
export const ExtentEntity = defineEntity({
  name: 'Extent',
  tableName: 'extents',
  properties: {
    /** A local key, like a segment's. */
    key: p.bigint().primary().autoincrement(false),
    tableId: p.uuid(),
    version: p.bigint(),
    ordinal: p.integer(),
    generation: p.bigint(),
    /**
     * The schema that decided its rows, whether scalars were wrapped into array columns, and the rule by which values
     * fit.
     */
    schemaVersion: p.bigint(),
    wrap: p.boolean(),
    rule: p.integer(),
    /** The version of the schema that presented the stored bodies; null: they are stored as received. */
    presented: p.bigint().nullable(),
    /** Whether the rows came as cell texts (CSV, TSV), not as JSON values. */
    cells: p.boolean(),
    /** Whether compaction has merged it with others. */
    merged: p.boolean().default(false),
    /** Which rows have a retained ID in `retained_ids` instead of the ID of their place (retained-places.ts). */
    retained: p.blob().nullable(),
    segment: p.bigint(),
    /** Where its rows begin in the segment, and how many there are. */
    first: p.integer(),
    rows: p.integer(),
    bytes: p.integer(),
    /** Whether any of its rows was ever patched or deleted, and how many are deleted. */
    changed: p.boolean(),
    deleted: p.integer(),
    /**
     * The version of its table up to which replaced bodies are erased, and when the next check is due, by the clock of
     * Postgres.
     */
    erased: p.bigint().default('0'),
    eraseAt: p.datetime().defaultRaw(`now() + interval '${eraseInterval} ms'`),
  },
  uniques: [{ properties: ['tableId', 'version', 'ordinal'] }],
  indexes: [{ properties: ['segment'] }],
});

export const storedExtents = StoredTable.of(ExtentEntity, { without: ['merged', 'erased', 'eraseAt'] });

/**
 * The row IDs that a table issued in generations that garbage collection has forgotten: an entry for each of their
 * extents, in order. The entries are in packs of some KiB (forgotten-generations.garbage.ts). All entries of a pack are
 * below the entries of the next pack. Postgres compresses the lists.
 */
export const IssuedIdsEntity = defineEntity({
  name: 'IssuedIds',
  tableName: 'issued_ids',
  properties: {
    tableId: p.uuid().primary(),
    /** Version and ordinal of the first entry, and of the last one. */
    version: p.bigint().primary().autoincrement(false),
    ordinal: p.integer().primary().autoincrement(false),
    lastVersion: p.bigint(),
    lastOrdinal: p.integer(),
    /** One item per extent. The values are those that the extent had. */
    versions: p.array().columnType('int8[]'),
    ordinals: p.array().columnType('int4[]'),
    rows: p.array().columnType('int4[]'),
    retained: p.array().columnType('bytea[]'),
  },
});

/**
 * A replaced generation, which continuations go on reading (docs/spec/decisions.md 3), or one that ended with its
 * table.
 */
export const GenerationEntity = defineEntity({
  name: 'Generation',
  tableName: 'generations',
  properties: {
    tableId: p.uuid().primary(),
    version: p.bigint().primary().autoincrement(false),
    /** The version of the overwrite or deletion, and the time of its record in milliseconds. */
    ended: p.bigint(),
    endedAt: p.bigint('number'),
    /** The version of its last schema, under which its rows are read, and that of the last such change before. */
    schemaVersion: p.bigint(),
    widened: p.bigint(),
    /**
     * Whether garbage collection has ended the generation for readers, and whether it has removed the changes of its
     * rows.
     */
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

/** The apps that a table was linked to when it was created. */
export const AppLinkEntity = defineEntity({
  name: 'AppLink',
  tableName: 'app_links',
  properties: {
    tableId: p.uuid().primary(),
    appId: p.string().primary().columnType('text'),
  },
});

export const storedAppLinks = StoredTable.of(AppLinkEntity);
