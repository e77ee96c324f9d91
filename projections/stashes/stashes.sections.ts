/** What replay must give again of stashes. */
import { logTimes, type Section } from '../engine/compare/section.ts';
import { endedStashLife } from './live-stash.ts';

export const stashSections: readonly Section[] = [
  {
    name: ([teamId, stashId]) => `stash ${stashId} of team ${teamId}`,
    keys: 2,
    columns: ['created', 'created_at', 'expires_at', 'chunks', 'rows', 'profiled_columns', 'words', 'ended_at'],
    query: `select distinct on (team_id, stash_id collate "C") team_id, stash_id, stashes.created, created_at, expires_at, chunks,
        stashes.rows, profiled_columns, words, ended_at from stashes
      join teams on teams.id = stashes.team_id join ${logTimes} on last.partition = teams.partition
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
];
