/** What replay must give again of tables, apart from extents and rows. */
import { logTimes, type Section } from '../engine/compare/section.ts';
import { generationLife, rememberedAnswers } from './tables.garbage.ts';

/** What a deleted table had may be there or not. */
const isShown = 'not exists (select from tables where tables.id = table_id and deleted)';

export const tableSections: readonly Section[] = [
  {
    name: ([id]) => `table ${id}`,
    keys: 1,
    columns: [
      'team_id', 'name', 'created', 'created_at', 'version', 'generation', 'schema_version', 'widened', 'rows', 'row_bytes_max',
      'tail', 'keeps',
    ],
    query: `select id, team_id, name, created, created_at, version, generation, schema_version, widened, rows, row_bytes_max,
        (select version || ' ' || ordinal from extents where key = tables.tail), keeps
      from tables where not deleted order by id`,
  },
  {
    name: ([tableId, version]) => `generation ${version} of table ${tableId}, which was replaced`,
    keys: 2,
    columns: ['ended', 'ended_at', 'schema_version', 'widened'],
    query: `select table_id, generations.version, ended, ended_at, generations.schema_version, generations.widened from generations
      join tables on tables.id = generations.table_id and not tables.deleted join teams on teams.id = tables.team_id
      join ${logTimes} on last.partition = teams.partition
      where ended_at >= last.time - ${generationLife} order by table_id, generations.version`,
  },
  {
    name: ([tableId, version, ordinal, index]) => `the ID that row ${index} of extent ${version} ${ordinal} of table ${tableId} kept`,
    keys: 4,
    columns: ['id'],
    // Those of a generation that was replaced are parts of answers, which are repeated until garbage collection may forget it.
    query: `select extents.table_id, extents.version, ordinal, kept_ids.index - extents.first as index, kept_ids.id from extents
      join tables on tables.id = extents.table_id and not tables.deleted
      left join generations ended on ended.table_id = extents.table_id and ended.version = extents.generation
      join teams on teams.id = tables.team_id join ${logTimes} on last.partition = teams.partition
      join kept_ids on extents.kept is not null and kept_ids.segment = extents.segment
        and kept_ids.index >= extents.first and kept_ids.index < extents.first + extents.rows
      where extents.generation = tables.generation or ended.ended_at >= last.time - ${rememberedAnswers}
      order by extents.table_id, extents.version, ordinal, index`,
  },
  {
    name: ([tableId, version]) => `schema ${version} of table ${tableId}`,
    keys: 2,
    columns: ['columns'],
    query: `select table_id, version, columns from table_schemas where ${isShown} order by table_id, version`,
  },
  {
    name: ([tableId, appId]) => `link of table ${tableId} to app ${JSON.stringify(appId)}`,
    keys: 2,
    columns: [],
    query: `select table_id, app_id from app_links where ${isShown} order by table_id, app_id collate "C"`,
  },
];
