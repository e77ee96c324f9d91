/** Counters, which count from 0 again once they are full. */
import { Gauge } from 'prom-client';
import type { Feature } from '../../../src/app/feature.ts';
import { recordFact } from '../../../src/log/record-fact.ts';
import { addCounterRoutes } from './counter-routes.ts';

const countMax = 9;

export const countersFeature: Feature = ({ queries: { counters }, submitter, log }) => ({
  routes: (app) => addCounterRoutes(app, { submitter, counters, countMax }),
  metrics: (registry) => {
    const counted: Gauge = new Gauge({
      name: 'tablog_counted',
      help: 'How far all teams together have counted.',
      registers: [registry],
      collect: async () => counted.set(await counters.sum()),
    });
  },
  maintenance: [
    {
      name: 'restart_counters',
      repeats: false,
      step: async () => {
        const full = await counters.full(countMax);
        for (const teamId of full) await recordFact(log, { type: 'CounterRestarted', teamId });
        return full.length;
      },
    },
  ],
});
