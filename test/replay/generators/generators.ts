/** One generator per model, enforced by type, so that replay is tested with the events of every model. */
import type { models } from '../../../projections/models.ts';
import type { GeneratorOf } from './generator.ts';
import { generateSegments } from './segments.ts';
import { generateStashes } from './stashes.ts';
import { TablesGenerator } from './tables.ts';
import { generateTeams } from './teams.ts';
import { UploadsGenerator } from './uploads.ts';

export const generators = {
  teams: generateTeams,
  segments: generateSegments,
  tables: (team) => new TablesGenerator(team),
  stashes: generateStashes,
  uploads: (team) => new UploadsGenerator(team),
} satisfies Readonly<Record<keyof typeof models, GeneratorOf>>;
