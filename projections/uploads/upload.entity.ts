import { defineEntity, p } from '@mikro-orm/core';
import { StoredTable } from '../../src/storage/database/stored-table.ts';

/** An upload. Never removed, so that its URL is never reused for another file. */
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
    /** From this time on it cannot be completed. */
    expiresAt: p.bigint('number'),
    /** The maximum size of the file in bytes, and how many milliseconds the file is kept while no row names it. */
    sizeMax: p.bigint('number'),
    unclaimedLifeMs: p.bigint('number'),
    /** The name of the file in the store, and its size in bytes; null until the upload is completed. */
    file: p.string().columnType('text collate "C"').nullable().unique(),
    size: p.bigint('number').nullable(),
    /** Since when no row is known to name the file. Null while a row names it, and before the upload is completed. */
    unclaimedSince: p.bigint('number').nullable(),
    /** When the upload was given up; null before that. */
    removedAt: p.bigint('number').nullable(),
    /** Whether the bytes of a given-up upload have been removed from the store. */
    cleared: p.boolean().default(false),
  },
});

/** The columns that batches read and write. */
export const storedUploads = StoredTable.of(UploadEntity, { without: ['cleared'] });
