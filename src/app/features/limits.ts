/** Limits on the requests of a team, and of all teams together. */
import { smallBodyBytesMax } from '../../api/http/bodies/receive-rows.ts';
import { isBodyWithin } from '../../api/http/bodies/request-body.ts';
import { dayOf, sumLogBytes } from '../../api/usage/log-bytes-notes.ts';
import { addDiskMetrics } from '../../operations/metrics/disk-metrics.ts';
import { addQuotaMetrics } from '../../operations/metrics/quota-metrics.ts';
import { addShareMetrics } from '../../operations/metrics/share-metrics.ts';
import type { Feature } from '../feature.ts';

export const limitsFeature: Feature = ({
  config,
  log,
  database,
  queries,
  receiver,
  rateLimits,
  diskFloor,
  shares,
}) => ({
  routes: (app) => {
    app.addHook('preHandler', (request, _reply, done) => {
      const isProbe = request.routeOptions.config.public === true;
      if (!isProbe && isBodyWithin(smallBodyBytesMax, request.raw)) receiver.turns.giveWay();
      done();
    });
    rateLimits?.addTo(app);
    if (config.DISK_FREE_MIN > 0) diskFloor.addTo(app);
  },
  metrics: (registry) => {
    addDiskMetrics(registry, diskFloor);
    addQuotaMetrics(registry, async () => [
      ...(await queries.teams.quotaUse()),
      { quota: 'logBytesPerDay', ...(await sumLogBytes(database.pool, dayOf(log.now()))) },
    ]);
    addShareMetrics(registry, shares);
  },
});
