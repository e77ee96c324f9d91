import { defineEntity, p } from '@mikro-orm/core';
import { StoredTable } from '../../../src/storage/database/stored-table.ts';

/** The row that has a key, for each index of keys (docs/decisions/0078). */
export const RowKeyEntity = defineEntity({
  name: 'RowKey',
  tableName: 'row_keys',
  properties: {
    tableId: p.uuid().primary(),
    /** The version of the event that began the index. */
    since: p.bigint().primary().autoincrement(false),
    /** The first 16 bytes of the SHA-256 of the key (row-keys.store.ts). */
    hash: p.uuid().primary(),
    /** Where the row is. */
    extent: p.bigint(),
    index: p.integer(),
  },
});

export const storedRowKeys = StoredTable.of(RowKeyEntity);

/** Indexes that no decision reads any more. Garbage collection removes their entries, and then them. */
export const EndedKeyEntity = defineEntity({
  name: 'EndedKey',
  tableName: 'ended_keys',
  properties: {
    tableId: p.uuid().primary(),
    since: p.bigint().primary().autoincrement(false),
  },
});

export const storedEndedKeys = StoredTable.of(EndedKeyEntity);
