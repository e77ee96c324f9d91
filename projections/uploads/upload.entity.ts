import { defineEntity, p } from '@mikro-orm/core';
import { StoredTable } from '../../src/database/stored-table.ts';

/** An upload, from its creation on for good: a URL that was handed out is never another file's. */
export const UploadEntity = defineEntity({
  name: 'Upload',
  tableName: 'uploads',
  properties: {
    id: p.uuid().primary(),
    teamId: p.uuid(),
    appId: p.string().columnType('text'),
    contentType: p.string().columnType('text'),
    fileName: p.string().columnType('text'),
    /** The version of the event that created it, and the time of its record in milliseconds. */
    created: p.bigint(),
    createdAt: p.bigint('number'),
    /** The time from which on it cannot be completed. */
    expiresAt: p.bigint('number'),
    /** The largest file in bytes, and for how many milliseconds it is kept while no row names it. */
    sizeMax: p.bigint('number'),
    unclaimedLifeMs: p.bigint('number'),
    /** The name of the file in the store, and its bytes; null until it is completed. */
    file: p.string().columnType('text collate "C"').nullable().unique(),
    size: p.bigint('number').nullable(),
    /** Since when no row is known to name the file; null while one does. */
    unclaimedSince: p.bigint('number').nullable(),
    /** When the file was given up. */
    removedAt: p.bigint('number').nullable(),
    /** Whether the bytes of one that was given up are removed from the store. */
    cleared: p.boolean().default(false),
  },
});

/** As batches read and write them. */
export const storedUploads = StoredTable.of(UploadEntity, { without: ['cleared'] });
