/** What of a read model replay must give again, apart from links and rows: each a query in the order of its keys. */
import { generationLife, sweepTimes } from '../../projections/segments/sweeper.ts';
import { endedStashLife } from '../../projections/stashes/live-stash.ts';
import { outcomeLife } from '../../projections/outcomes/outcomes.store.ts';
import { bodyLife } from '../../projections/tables/place-rows.ts';
import type { ResultRow } from '../database/pipelined-client.ts';
import { compareCells, type Labels } from './compare-cells.ts';
import type { Differences } from './differences.ts';
import { merge } from './merge.ts';
import type { Snapshot } from './snapshot.ts';

/** How many rows of a section are in memory at once, on each side. */
const rowsAtOnce = 200;

interface Section extends Labels {
  /** The keys, then the columns, in the order of the keys. */
  readonly query: string;
}

/** What is known of a partition's log time, for what is remembered only for a while. */
const lastTimes = 'progress as last';

/** What a deleted table had may be there or not. */
const isShown = 'not exists (select from tables where tables.id = table_id and deleted)';

export const sections: readonly Section[] = [
  {
    name: ([partition]) => `progress of partition ${partition}`,
    keys: 1,
    columns: ['next', 'base', 'log_id', 'last_hash', 'time'],
    query: `select partition, next, base, log_id, encode(last_hash, 'hex'), time from progress order by partition`,
  },
  {
    name: ([id]) => `team ${id}`,
    keys: 1,
    columns: ['partition', 'name', 'created', 'suspended', 'rows', 'rows_max', 'upload_bytes', 'upload_bytes_max', 'open_uploads'],
    query: `select id, partition, name, created, suspended, rows, rows_max, upload_bytes, upload_bytes_max, open_uploads
      from teams order by id`,
  },
  {
    name: ([id]) => `token ${id}`,
    keys: 1,
    columns: ['team_id', 'name', 'hash', 'created', 'expires_at', 'read_only', 'app_id', 'revoked'],
    query: `select id, team_id, name, encode(hash, 'hex'), created, expires_at, read_only, app_id, revoked from tokens order by id`,
  },
  {
    name: ([id]) => `table ${id}`,
    keys: 1,
    columns: [
      'team_id', 'name', 'created', 'created_at', 'version', 'generation', 'schema_version', 'widened', 'rows', 'row_bytes_max',
      'tail', 'keeps',
    ],
    query: `select id, team_id, name, created, created_at, version, generation, schema_version, widened, rows, row_bytes_max,
        (select version || ' ' || ordinal from links where key = tables.tail), keeps
      from tables where not deleted order by id`,
  },
  {
    name: ([tableId, version]) => `generation ${version} of table ${tableId}, which was replaced`,
    keys: 2,
    columns: ['ended', 'ended_at', 'schema_version', 'widened'],
    query: `select table_id, generations.version, ended, ended_at, generations.schema_version, generations.widened from generations
      join tables on tables.id = generations.table_id and not tables.deleted join teams on teams.id = tables.team_id
      join ${lastTimes} on last.partition = teams.partition
      where ended_at >= last.time - ${generationLife} order by table_id, generations.version`,
  },
  {
    name: ([tableId, version, ordinal, index]) => `the ID that row ${index} of link ${version} ${ordinal} of table ${tableId} kept`,
    keys: 4,
    columns: ['id'],
    // Those of a generation that was replaced are parts of answers, which are repeated until the sweeper may forget it.
    query: `select links.table_id, links.version, ordinal, kept_ids.index - links.first as index, kept_ids.id from links
      join tables on tables.id = links.table_id and not tables.deleted
      left join generations ended on ended.table_id = links.table_id and ended.version = links.generation
      join teams on teams.id = tables.team_id join ${lastTimes} on last.partition = teams.partition
      join kept_ids on links.kept is not null and kept_ids.segment = links.segment
        and kept_ids.index >= links.first and kept_ids.index < links.first + links.rows
      where links.generation = tables.generation or ended.ended_at >= last.time - ${sweepTimes.outcomes}
      order by links.table_id, links.version, ordinal, index`,
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
  {
    name: ([bodyId, number]) => `block ${number} of body ${bodyId}`,
    keys: 2,
    columns: ['team_id', 'profile', 'ids', 'time'],
    query: `select body_id, number, team_id, profile, encode(ids, 'hex'), body_blocks.time from body_blocks
      join teams on teams.id = body_blocks.team_id join ${lastTimes} on last.partition = teams.partition
      where last.time - body_blocks.time <= ${bodyLife} order by body_id, number`,
  },
  {
    name: ([teamId, stashId]) => `stash ${stashId} of team ${teamId}`,
    keys: 2,
    columns: ['created', 'created_at', 'expires_at', 'chunks', 'rows', 'profiled_columns', 'words', 'ended_at'],
    query: `select distinct on (team_id, stash_id collate "C") team_id, stash_id, stashes.created, created_at, expires_at, chunks,
        stashes.rows, profiled_columns, words, ended_at from stashes
      join teams on teams.id = stashes.team_id join ${lastTimes} on last.partition = teams.partition
      where last.time - coalesce(ended_at, expires_at) <= ${endedStashLife}
      order by team_id, stash_id collate "C", stashes.created desc`,
  },
  {
    name: ([teamId, stashId, serial, number]) => `block ${number} of chunk ${serial} of stash ${stashId} of team ${teamId}`,
    keys: 4,
    columns: ['numeric_order', 'rows', 'profiled_columns', 'profile', 'ids', 'hash of the rows'],
    query: `select team_id, stash_id, serial, number, numeric_order, blocks.rows, blocks.profiled_columns, profile, encode(ids, 'hex'),
        (select md5(string_agg(body, E'\\n' order by index)) from segment_rows where segment = blocks.segment)
      from stashes join chunk_blocks blocks on blocks.stash = stashes.key where ended_at is null
      order by team_id, stash_id collate "C", serial collate "C", number`,
  },
  {
    name: ([id]) => `upload ${id}`,
    keys: 1,
    columns: [
      'team_id', 'app_id', 'content_type', 'file_name', 'created', 'created_at', 'expires_at', 'size_max', 'unclaimed_life_ms', 'file',
      'size', 'unclaimed_since', 'removed_at',
    ],
    query: `select id, team_id, app_id, content_type, file_name, created, created_at, expires_at, size_max, unclaimed_life_ms, file, size,
        unclaimed_since, removed_at from uploads order by id`,
  },
  {
    name: ([tableId, version, ordinal, index, file]) => `file ${file} in row ${index} of link ${version} ${ordinal} of table ${tableId}`,
    keys: 5,
    columns: ['team_id'],
    // What counts when a file is looked at: of rows that were patched or deleted only what their newest bodies name.
    query: `select links.table_id, links.version, ordinal, named.index - links.first as index, file, named.team_id from links
      join tables on tables.id = links.table_id and tables.generation = links.generation and not tables.deleted
      join file_references named on named.segment = links.segment and named.index >= links.first
        and named.index < links.first + links.rows
      where not exists (select from changes where changes.link = links.key and changes.index = named.index - links.first)
      union all
      select links.table_id, links.version, ordinal, named.index, file, named.team_id from links
      join tables on tables.id = links.table_id and tables.generation = links.generation and not tables.deleted
      join change_references named on named.link = links.key
      order by table_id, version, ordinal, index, file`,
  },
  {
    name: ([partition, commandId]) => `outcome of command ${commandId} in partition ${partition}`,
    keys: 2,
    columns: ['log_offset', 'time', 'etag', 'detail', 'request_digest', 'replaced_time'],
    // What is older may have been swept before it could be replaced.
    query: `select partition, command_id, log_offset, outcomes.time, etag, detail, request_digest,
        case when outcomes.time - replaced_time <= ${sweepTimes.outcomes} then replaced_time end
      from outcomes join ${lastTimes} using (partition)
      where last.time - outcomes.time < ${outcomeLife} order by partition, command_id`,
  },
];

export async function compareSection(
  section: Section,
  expected: Snapshot,
  found: Snapshot,
  differences: Differences,
): Promise<void> {
  const streams = [expected, found].map((side) => side.stream(section.query, rowsAtOnce)) as Streams;
  for await (const pair of merge(...streams, section.keys)) {
    compareCells(section, pair, differences);
    if (differences.full) return;
  }
}

type Streams = [AsyncGenerator<ResultRow>, AsyncGenerator<ResultRow>];
