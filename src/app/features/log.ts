/** The log and its read model. */
import { models } from '../../../projections/models.ts';
import { garbageOf } from '../../log/garbage.ts';
import { removeSuperseded } from '../../operations/maintenance/remove-superseded.ts';
import { addStatusMetrics } from '../../operations/metrics/status-metrics.ts';
import type { Feature } from '../feature.ts';
import { askPostgres } from '../health.ts';

export const logFeature: Feature = ({ log, database }) => ({
  metrics: (registry) => addStatusMetrics(registry, { log, askPostgres: () => askPostgres(database) }),
  maintenance: [
    ...Object.entries(garbageOf(models)).map(([name, remove]) => ({
      name,
      repeats: true,
      step: () => remove(database, 0),
    })),
    {
      name: 'superseded_read_models',
      repeats: true,
      isRare: true,
      step: () => removeSuperseded(database.pool, database.schema),
    },
  ],
});
