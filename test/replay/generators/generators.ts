/** A generator for each model: whoever adds a model adds its generator, and then replay is tried with its events. */
import type { models } from '../../../projections/models.ts';
import type { GeneratorOf } from './generator.ts';
import { generateSegments } from './segments.ts';
import { generateStashes } from './stashes.ts';
import { TablesGenerator } from './tables.ts';
import { generateTeams } from './teams.ts';
import { UploadsGenerator } from './uploads.ts';

export const generators = {
  teams: generateTeams, segments: generateSegments, tables: (team) => new TablesGenerator(team), stashes: generateStashes,
  uploads: (team) => new UploadsGenerator(team),
} satisfies Readonly<Record<keyof typeof models, GeneratorOf>>;
