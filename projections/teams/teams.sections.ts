/** What replay must reproduce of teams and tokens. */
import type { Section } from '../engine/compare/section.ts';
import { storedTeams, storedTokens } from './team.entity.ts';

export const teamSections: readonly Section[] = [
  { name: ({ id }) => `team ${id}`, keys: ['id'], query: `select ${storedTeams.compared()} from teams order by id` },
  { name: ({ id }) => `token ${id}`, keys: ['id'], query: `select ${storedTokens.compared()} from tokens order by id` },
];
