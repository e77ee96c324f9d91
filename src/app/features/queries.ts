/** Filters, sorts, groups, SQL and exports, which the query processes answer. */
import { addExportRoutes } from '../../api/http/exports/export-table.ts';
import { addQueryRoutes } from '../../api/http/queries/queries.ts';
import { addQueryMetrics } from '../../operations/metrics/query-metrics.ts';
import type { Feature } from '../feature.ts';

export const queriesFeature: Feature = ({ engine, shares, queries }) => ({
  routes: (app) => {
    addQueryRoutes(app, { engine, shares, keyedRows: queries.tables.keyedRows });
    addExportRoutes(app, { engine, shares, tables: queries.tables.tables });
  },
  metrics: (registry) => addQueryMetrics(registry, engine),
});
