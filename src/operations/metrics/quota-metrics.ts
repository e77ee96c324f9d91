/**
 * Metrics of how much of each quota is in use: by all teams together, and by the team that uses most. There is no label
 * per team.
 */
import { Gauge, type Registry } from 'prom-client';
import type { PlanQuota } from '../../language/events/quota.ts';
import { withScrapeTimeout } from './scrape-timeout.ts';

/** How much of a quota teams use. */
export interface QuotaUse {
  readonly quota: PlanQuota;
  readonly allTeams: number;
  readonly largestTeam: number;
}

/** For how long scrapes repeat an answer, in milliseconds, because the query reads all teams. */
const repeatedFor = 30_000;

/** The quota as a label: `openUploads` is `open_uploads`. */
export function quotaLabel(quota: PlanQuota): string {
  return quota.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Adds the metrics. While Postgres is away they have no values. */
export function addQuotaMetrics(registry: Registry, ask: () => Promise<readonly QuotaUse[]>): void {
  let askedAt = -Infinity;
  const used: Gauge<'quota' | 'teams'> = new Gauge({
    name: 'tablog_quota_used',
    help: 'How much of a quota is used: by all teams together, and by the team that uses most.',
    labelNames: ['quota', 'teams'],
    registers: [registry],
    collect: async () => {
      if (performance.now() - askedAt < repeatedFor) return;
      const found = await withScrapeTimeout(ask);
      used.reset();
      for (const { quota, allTeams, largestTeam } of found ?? []) {
        used.set({ quota: quotaLabel(quota), teams: 'all' }, allTeams);
        used.set({ quota: quotaLabel(quota), teams: 'largest' }, largestTeam);
      }
      if (found !== null) askedAt = performance.now();
    },
  });
}
