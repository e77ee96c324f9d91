import { defineEntity, p } from '@mikro-orm/core';
import { StoredTable } from '../../../src/storage/database/stored-table.ts';

/**
 * Indexes into which the API has read the keys of large tables, ahead of the events that declare these keys
 * (docs/decisions/0083).
 */
export const KeyPreparationEntity = defineEntity({
  name: 'KeyPreparation',
  tableName: 'key_preparations',
  properties: {
    tableId: p.uuid().primary(),
    /** The number of the index: `row_keys.since` of its entries. */
    since: p.bigint().primary().autoincrement(false),
    /** The IDs of the columns of the key, as a JSON array. */
    columns: p.text(),
    /** The version of the table whose keys the index has; null: it does not have all of them yet. */
    version: p.bigint().nullable(),
    /** Whether an event has taken the index, or found it useless. It is not prepared any further then. */
    isTaken: p.boolean().default(false),
    /** When it was last worked on, by the clock of Postgres. */
    touchedAt: p.datetime().defaultRaw('now()'),
  },
});

export const storedKeyPreparations = StoredTable.of(KeyPreparationEntity, {
  without: ['version', 'isTaken', 'touchedAt'],
});

/** The keys of such an index by the places of their rows, for as long as it is prepared. */
export const PreparedPlacesEntity = defineEntity({
  name: 'PreparedPlaces',
  tableName: 'prepared_places',
  properties: {
    tableId: p.uuid().primary(),
    since: p.bigint().primary().autoincrement(false),
    extent: p.bigint().primary().autoincrement(false),
    /** The index of the first row in the extent. */
    first: p.integer().primary().autoincrement(false),
    /** 16 bytes for each row, as `row_keys.hash`; zeros: the row has no key, or does not exist. */
    hashes: p.blob(),
  },
});
