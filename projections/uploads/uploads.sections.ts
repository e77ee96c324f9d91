/** The parts of uploads, and the files that rows name, that replay must reproduce. */
import type { Section } from '../../src/log/compare/section.ts';
import { hasChangeAt } from '../tables/read/shown-rows.ts';
import { isShownNow } from '../tables/read/table-at.ts';
import { storedUploads } from './upload.entity.ts';

export const uploadSections: readonly Section[] = [
  {
    what: 'uploads',
    owner: 'team_id',
    name: ({ id }) => `upload ${id}`,
    keys: ['id'],
    query: `select ${storedUploads.compared()} from uploads order by id`,
  },
  {
    what: 'file references',
    owner: 'table_id',
    name: ({ table_id: tableId, version, ordinal, index, file }) => {
      return `file ${file} in row ${index} of extent ${version} ${ordinal} of table ${tableId}`;
    },
    keys: ['table_id', 'version', 'ordinal', 'index', 'file'],
    // As `UploadChecked` sees the references: if a row was patched or deleted, only those of its newest body count.
    query: `select extents.table_id, extents.version, ordinal, named.index - extents.first as index, file, named.team_id
    from extents
      join tables on ${isShownNow}
      join file_references named on named.segment = extents.segment and named.index >= extents.first
        and named.index < extents.first + extents.rows
      where not ${hasChangeAt('extents', 'named.index - extents.first')}
      union all
      select extents.table_id, extents.version, ordinal, named.index, file, named.team_id from extents
      join tables on ${isShownNow}
      join change_references named on named.extent = extents.key
      order by table_id, version, ordinal, index, file`,
  },
];
