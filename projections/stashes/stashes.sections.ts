/** The parts of stashes that replay must reproduce. */
import { logTimes, type Section } from '../../src/log/compare/section.ts';
import { endedStashLife } from './live-stash.ts';
import { storedChunkBlocks, storedStashes } from './stash.entity.ts';

export const stashSections: readonly Section[] = [
  {
    what: 'stashes',
    owner: 'team_id',
    name: ({ team_id: teamId, stash_id: stashId }) => `stash ${stashId} of team ${teamId}`,
    keys: ['team_id', 'stash_id'],
    query: `select distinct on (team_id, stash_id collate "C") ${storedStashes.compared({ without: ['key'] })} from stashes
      join teams on teams.id = stashes.team_id join ${logTimes} on last.partition = teams.partition
      where last.time - coalesce(ended_at, expires_at) <= ${endedStashLife}
      order by team_id, stash_id collate "C", stashes.created desc`,
  },
  {
    what: 'chunk blocks',
    owner: 'team_id',
    name: ({ team_id: teamId, stash_id: stashId, serial, number }) =>
      `block ${number} of chunk ${serial} of stash ${stashId} of team ${teamId}`,
    keys: ['team_id', 'stash_id', 'serial', 'number'],
    query: `select team_id, stash_id, ${storedChunkBlocks.compared({ without: ['chunk', 'stash', 'segment'] })},
        (select md5(string_agg(body, E'\\n' order by index)) from segment_rows
        where segment = chunk_blocks.segment) as "hash of the rows"
      from stashes join chunk_blocks on chunk_blocks.stash = stashes.key where ended_at is null
      order by team_id, stash_id collate "C", serial collate "C", number`,
  },
];
