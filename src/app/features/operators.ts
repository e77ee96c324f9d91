/** The routes of operators, all under `/admin` (docs/spec/operators.md). */
import { addPartitionRoutes } from '../../api/http/operators/partitions.ts';
import { addOperatorTeamRoutes } from '../../api/http/operators/teams.ts';
import { addTokenRoutes } from '../../api/http/operators/tokens.ts';
import type { Feature } from '../feature.ts';

export const operatorsFeature: Feature = (parts) => {
  const dependencies = { ...parts, teams: parts.queries.teams, quotaSettings: parts.config };
  return {
    routes: (app) => {
      addOperatorTeamRoutes(app, dependencies);
      addTokenRoutes(app, dependencies);
      addPartitionRoutes(app, dependencies);
    },
  };
};
