/** The parts of tables that replay must reproduce, except extents and rows. */
import { logTimes, type Section } from '../../src/log/compare/section.ts';
import { storedGenerations, storedSchemas, storedTables } from './table.entity.ts';
import { isForgettableInSql, ofGeneration, rememberedAnswers } from './ended-generations.ts';
import { issuedAnyInSql } from './forgotten-generations.garbage.ts';
import { generationLife } from './tables.garbage.ts';

/** Rows of deleted tables may already be garbage-collected. */
const isShown = 'not exists (select from tables where tables.id = table_id and deleted)';

export const tableSections: readonly Section[] = [
  {
    what: 'tables',
    owner: 'team_id',
    name: ({ id }) => `table ${id}`,
    keys: ['id'],
    query: `select ${storedTables.compared({ without: ['tail', 'deleted'] })},
        (select version || ' ' || ordinal from extents where key = tables.tail) as tail
      from tables where not deleted order by id`,
  },
  {
    what: 'generations',
    owner: 'table_id',
    name: ({ table_id: tableId, version }) => `generation ${version} of table ${tableId}, which was replaced`,
    keys: ['table_id', 'version'],
    query: `select ${storedGenerations.compared()} from generations
      join tables on tables.id = generations.table_id and not tables.deleted join teams on teams.id = tables.team_id
      join ${logTimes} on last.partition = teams.partition
      where ended_at >= last.time - ${generationLife} order by table_id, generations.version`,
  },
  {
    what: 'retained row IDs',
    owner: 'table_id',
    name: ({ table_id: tableId, version, ordinal, index }) => {
      return `the ID that row ${index} of extent ${version} ${ordinal} of table ${tableId} retains`;
    },
    keys: ['table_id', 'version', 'ordinal', 'index'],
    // Answers contain IDs of a replaced generation. They can be repeated until garbage collection may remove the IDs.
    query: `select extents.table_id, extents.version, ordinal, retained_ids.index - extents.first as index,
    retained_ids.id from extents
      join tables on tables.id = extents.table_id and not tables.deleted
      left join generations ended on ended.table_id = extents.table_id and ended.version = extents.generation
      join teams on teams.id = tables.team_id join ${logTimes} on last.partition = teams.partition
      join retained_ids on extents.retained is not null and retained_ids.segment = extents.segment
        and retained_ids.index >= extents.first and retained_ids.index < extents.first + extents.rows
      where extents.generation = tables.generation or ended.ended_at >= last.time - ${rememberedAnswers}
      order by extents.table_id, extents.version, ordinal, index`,
  },
  {
    what: 'row IDs of forgotten generations',
    owner: 'table_id',
    name: ({ table_id: tableId, version, ordinal }) => {
      return `the row IDs that table ${tableId} issued by its forgotten extent ${version} ${ordinal}`;
    },
    keys: ['table_id', 'version', 'ordinal'],
    // Garbage collection may have forgotten the generation, or a part of it. Until it may do so, the extents are
    // compared instead (compare/extents.ts).
    query: `select extents.table_id, extents.version, ordinal, extents.rows, encode(retained, 'hex') as retained
    from generations ended
      join tables on tables.id = ended.table_id and not tables.deleted join teams on teams.id = tables.team_id
      join ${logTimes} on last.partition = teams.partition and ${isForgettableInSql} join extents on ${ofGeneration} and ${issuedAnyInSql('extents')}
      union all
      select issued_ids.table_id, entry.version, entry.ordinal, entry.rows, encode(entry.retained, 'hex')
      from issued_ids
      join tables on tables.id = issued_ids.table_id and not tables.deleted,
      unnest(issued_ids.versions, issued_ids.ordinals, issued_ids.rows, issued_ids.retained) entry(version, ordinal,
      rows, retained)
      order by table_id, version, ordinal`,
  },
  {
    what: 'schemas',
    owner: 'table_id',
    name: ({ table_id: tableId, version }) => `schema ${version} of table ${tableId}`,
    keys: ['table_id', 'version'],
    // All other schemas are unused, and may have been removed.
    query: `select ${storedSchemas.compared()} from table_schemas join tables on tables.id = table_schemas.table_id
    and not tables.deleted
      join teams on teams.id = tables.team_id join ${logTimes} on last.partition = teams.partition
      where table_schemas.version = tables.schema_version or exists (
        select from generations where generations.table_id = tables.id
        and generations.schema_version = table_schemas.version
          and ended_at >= last.time - ${generationLife})
      order by table_schemas.table_id, table_schemas.version`,
  },
  {
    what: 'keys of rows',
    owner: 'table_id',
    name: ({ table_id: tableId, hash }) => `the row of table ${tableId} whose key has the hash ${hash}`,
    keys: ['table_id', 'hash'],
    query: `select row_keys.table_id, row_keys.hash, extents.version, extents.ordinal, row_keys.index from row_keys
      join tables on tables.id = row_keys.table_id and tables.key_since = row_keys.since and not tables.deleted
      join extents on extents.key = row_keys.extent order by row_keys.table_id, row_keys.hash`,
  },
  {
    what: 'app links',
    owner: 'table_id',
    name: ({ table_id: tableId, app_id: appId }) => `link of table ${tableId} to app ${JSON.stringify(appId)}`,
    keys: ['table_id', 'app_id'],
    query: `select table_id, app_id collate "C" as app_id from app_links where ${isShown} order by 1, 2`,
  },
];
