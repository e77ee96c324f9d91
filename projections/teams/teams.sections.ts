/** The parts of teams and tokens that replay must reproduce. */
import type { Section } from '../../src/log/compare/section.ts';
import { storedTeams, storedTokens } from './team.entity.ts';

export const teamSections: readonly Section[] = [
  {
    what: 'teams',
    owner: 'partition',
    name: ({ id }) => `team ${id}`,
    keys: ['id'],
    query: `select ${storedTeams.compared()} from teams order by id`,
  },
  {
    what: 'tokens',
    owner: 'team_id',
    name: ({ id }) => `token ${id}`,
    keys: ['id'],
    query: `select ${storedTokens.compared()} from tokens order by id`,
  },
];
