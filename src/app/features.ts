/** The features of the service. Their routes, metrics and maintenance tasks are added in this order. */
import type { Queries } from '../../projections/models.ts';
import type { Feature } from './feature.ts';
import { jobsFeature } from './features/jobs.ts';
import { limitsFeature } from './features/limits.ts';
import { logFeature } from './features/log.ts';
import { operatorsFeature } from './features/operators.ts';
import { queriesFeature } from './features/queries.ts';
import { stashesFeature } from './features/stashes.ts';
import { tablesFeature } from './features/tables.ts';
import { teamsFeature } from './features/teams.ts';
import { uploadsFeature } from './features/uploads.ts';

/** The models with queries. Each must have a feature with its name, through which clients query it. */
type AskedModel = { [Name in keyof Queries]: Queries[Name] extends null ? never : Name }[keyof Queries];

export const features = {
  log: logFeature,
  limits: limitsFeature,
  tables: tablesFeature,
  queries: queriesFeature,
  stashes: stashesFeature,
  uploads: uploadsFeature,
  jobs: jobsFeature,
  teams: teamsFeature,
  operators: operatorsFeature,
} satisfies Readonly<Record<AskedModel, Feature>> & Readonly<Record<string, Feature>>;
