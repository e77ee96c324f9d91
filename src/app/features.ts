/** The features of the service, one per line: routes, metrics and maintenance are added in this order. */
import type { Queries } from '../../projections/models.ts';
import type { Feature } from './feature.ts';
import { jobs } from './features/jobs.ts';
import { limits } from './features/limits.ts';
import { log } from './features/log.ts';
import { operators } from './features/operators.ts';
import { queries } from './features/queries.ts';
import { stashes } from './features/stashes.ts';
import { tables } from './features/tables.ts';
import { teams } from './features/teams.ts';
import { uploads } from './features/uploads.ts';

/** The models that can be asked: each has a feature of its name, by which clients ask it. */
type AskedModel = { [Name in keyof Queries]: Queries[Name] extends null ? never : Name }[keyof Queries];

export const features = {
  log,
  limits,
  tables,
  queries,
  stashes,
  uploads,
  jobs,
  teams,
  operators,
} satisfies Readonly<Record<AskedModel, Feature>> & Readonly<Record<string, Feature>>;
