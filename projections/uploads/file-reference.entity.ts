import { defineEntity, p } from '@mikro-orm/core';
import { LineText, StoredTable } from '../../src/database/stored-table.ts';

/**
 * The files that rows of segments name, as these were received or put into a tail (src/files/file-name.ts). Never updated. The team
 * comes first: whoever looks for what keeps a file passes by what other teams say of it, however much that is.
 */
export const FileReferenceEntity = defineEntity({
  name: 'FileReference',
  tableName: 'file_references',
  properties: {
    /** Whose rows they are. */
    teamId: p.uuid().primary(),
    /** The name of a file, of whatever team, or of none. */
    file: p.type(LineText).primary().columnType('text collate "C"'),
    segment: p.bigint().primary().autoincrement(false),
    index: p.integer().primary().autoincrement(false),
  },
  indexes: [{ properties: ['segment', 'index'] }],
});

export const storedFileReferences = StoredTable.of(FileReferenceEntity);

/** The files that the newest bodies of patched rows name. They count in place of those that the rows named before. */
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
