/** The routes of operators, all under `/admin` (docs/spec/operators.md). */
import type { App } from '../server/app-type.ts';
import { addPartitionRoutes } from './partitions.ts';
import { addOperatorTeamRoutes, type TeamsDependencies } from './teams.ts';
import { addTokenRoutes } from './tokens.ts';

type OperatorsRouteDependencies = TeamsDependencies;

export function addOperatorsRoutes(app: App, dependencies: OperatorsRouteDependencies): void {
  addOperatorTeamRoutes(app, dependencies);
  addTokenRoutes(app, dependencies);
  addPartitionRoutes(app, dependencies);
}
