/** Metrics of what teams share, queried at each scrape only. */
import { Gauge, type Registry } from 'prom-client';
import { FairShares } from '../../api/http/limits/fair-shares.ts';
import type { Shares } from '../../api/http/limits/shares.ts';

export function addShareMetrics(registry: Registry, shares: Shares): void {
  const all = Object.values(shares).filter((share) => share instanceof FairShares);
  const addGauge = (name: string, help: string, read: (share: FairShares) => number): void => {
    const gauge: Gauge<'share'> = new Gauge({
      name,
      help,
      labelNames: ['share'],
      registers: [registry],
      collect: () => {
        for (const share of all) gauge.set({ share: share.name }, read(share));
      },
    });
  };
  addGauge('tablog_share_capacity', 'How much there is to be shared among teams.', ({ capacity }) => capacity);
  addGauge('tablog_share_used', 'How much of it is in use.', ({ used }) => used);
}
