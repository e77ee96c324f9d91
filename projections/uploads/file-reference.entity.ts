import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/storage/database/stored-table.ts';

/**
 * The files that rows of segments name, as received or added to a tail (src/storage/files/file-name.ts). Never updated.
 * The team is the first column of the key, so that references by other teams, however many, do not slow down a look-up.
 */
export const FileReferenceEntity = defineEntity({
  name: 'FileReference',
  tableName: 'file_references',
  properties: {
    /** The team that owns the rows. */
    teamId: p.uuid().primary(),
    /** A file name. The file may belong to any team, or not exist. */
    file: p.type(LineText).primary().columnType('text collate "C"'),
    segment: p.bigint().primary().autoincrement(false),
    index: p.integer().primary().autoincrement(false),
  },
  indexes: [{ properties: ['segment', 'index'] }],
});

export const storedFileReferences = StoredTable.of(FileReferenceEntity);

/** The files that the newest bodies of patched rows name. They replace the references of the former bodies. */
export const ChangeReferenceEntity = defineEntity({
  name: 'ChangeReference',
  tableName: 'change_references',
  properties: {
    teamId: p.uuid().primary(),
    file: p.type(LineText).primary().columnType('text collate "C"'),
    extent: p.bigint().primary().autoincrement(false),
    index: p.integer().primary().autoincrement(false),
  },
  indexes: [{ properties: ['extent', 'index'] }],
});

export const storedChangeReferences = StoredTable.of(ChangeReferenceEntity);
