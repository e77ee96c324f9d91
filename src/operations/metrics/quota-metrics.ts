/** Metrics of what teams use of their quotas: over all teams, and by the largest one. There is no label per team. */
import { Gauge, type Registry } from 'prom-client';
import type { PlanQuota } from '../../language/events/quota.ts';
import { inTime } from './in-time.ts';

/** What teams use of a quota. */
export interface QuotaUse {
  readonly quota: PlanQuota;
  readonly allTeams: number;
  readonly largestTeam: number;
}

/** For how long an answer is repeated, in milliseconds: it takes a look at all teams. */
const repeatedFor = 30_000;

/** The quota as a label: `openUploads` is `open_uploads`. */
export function quotaLabel(quota: PlanQuota): string {
  return quota.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** While Postgres is away there are no values. */
export function addQuotaMetrics(registry: Registry, ask: () => Promise<readonly QuotaUse[]>): void {
  let askedAt = -Infinity;
  const used: Gauge<'quota' | 'teams'> = new Gauge({
    name: 'tablog_quota_used',
    help: 'What teams use of a quota: all of them, and the one that uses the most of it.',
    labelNames: ['quota', 'teams'],
    registers: [registry],
    collect: async () => {
      if (performance.now() - askedAt < repeatedFor) return;
      const found = await inTime(ask);
      used.reset();
      for (const { quota, allTeams, largestTeam } of found ?? []) {
        used.set({ quota: quotaLabel(quota), teams: 'all' }, allTeams);
        used.set({ quota: quotaLabel(quota), teams: 'largest' }, largestTeam);
      }
      if (found !== null) askedAt = performance.now();
    },
  });
}
