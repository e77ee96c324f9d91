/** The parts of open bodies that replay must reproduce. */
import { logTimes, type Section } from '../../src/log/compare/section.ts';
import { bodyLife } from './arrived-rows.ts';
import { storedBodyBlocks, storedOpenBodies } from './segment.entity.ts';

export const segmentSections: readonly Section[] = [
  {
    what: 'open bodies',
    owner: 'team_id',
    name: ({ body_id: bodyId }) => `open body ${bodyId}`,
    keys: ['body_id'],
    query: `select ${storedOpenBodies.compared()} from open_bodies order by body_id`,
  },
  {
    what: 'body blocks',
    owner: 'team_id',
    name: ({ body_id: bodyId, number }) => `block ${number} of body ${bodyId}`,
    keys: ['body_id', 'number'],
    query: `select ${storedBodyBlocks.compared({ without: ['segment'] })} from body_blocks
      join teams on teams.id = body_blocks.team_id join ${logTimes} on last.partition = teams.partition
      where last.time - body_blocks.time <= ${bodyLife} order by body_id, number`,
  },
];
