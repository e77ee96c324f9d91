/** The routes of operators. */
import { addOperatorsRoutes } from '../../api/http/operators/operators.ts';
import type { Feature } from '../feature.ts';

export const operatorsFeature: Feature = (parts) => ({
  routes: (app) => addOperatorsRoutes(app, { ...parts, teams: parts.queries.teams, quotaSettings: parts.config }),
});
