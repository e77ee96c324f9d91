/** Metrics of the resources that teams share, read at each scrape. */
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
  addGauge('tablog_share_capacity', 'Capacity of a resource that teams share.', ({ capacity }) => capacity);
  addGauge('tablog_share_used', 'How much of that capacity is in use.', ({ used }) => used);
}
