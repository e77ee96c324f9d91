/** What replay must give again of bodies whose closing event is to come. */
import { logTimes, type Section } from '../engine/compare/section.ts';
import { bodyLife } from './arrived-rows.ts';

export const segmentSections: readonly Section[] = [
  {
    name: ([bodyId, number]) => `block ${number} of body ${bodyId}`,
    keys: 2,
    columns: ['team_id', 'profile', 'ids', 'time'],
    query: `select body_id, number, team_id, profile, encode(ids, 'hex'), body_blocks.time from body_blocks
      join teams on teams.id = body_blocks.team_id join ${logTimes} on last.partition = teams.partition
      where last.time - body_blocks.time <= ${bodyLife} order by body_id, number`,
  },
];
