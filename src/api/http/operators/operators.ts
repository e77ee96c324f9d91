/** The routes of operators, all under `/admin` (docs/spec/operators.md). */
import type { App } from '../server/app-type.ts';
import { addPartitionRoutes } from './partitions.ts';
import { addTeamRoutes, type TeamsDependencies } from './teams.ts';
import { addTokenRoutes } from './tokens.ts';

export type OperatorsRouteDependencies = TeamsDependencies;

export function addOperatorsRoutes(app: App, dependencies: OperatorsRouteDependencies): void {
  addTeamRoutes(app, dependencies);
  addTokenRoutes(app, dependencies);
  addPartitionRoutes(app, dependencies);
}
