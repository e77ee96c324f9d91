/**
 * The usage and the limit of each quota of a team, and what sets the limit: its plan or, without one, a setting
 * (docs/reference/limits.md).
 */
import { planQuotas, type PlanLimits, type PlanQuota, type Usage } from '../../language/events/quota.ts';

/** The settings that limit quotas of teams whose plan does not. */
export const quotaSettings = {
  tables: 'TABLES_MAX',
  stashes: 'STASHES_MAX',
  openBodies: 'BODIES_OPEN_MAX',
  openUploads: 'UPLOADS_OPEN_MAX',
  openUploadBytes: 'UPLOADS_OPEN_BYTES_MAX',
  logBytesPerDay: 'LOG_BYTES_PER_DAY',
} as const satisfies { readonly [Q in PlanQuota]?: string };

type QuotaSetting = (typeof quotaSettings)[keyof typeof quotaSettings];

/** The settings that limit quotas; absent: there is no such limit. */
export type QuotaSettings = { readonly [S in QuotaSetting]?: number | undefined };

/** A quota of a team. */
interface TeamQuota {
  readonly used: number;
  /** Null: no limit. */
  readonly max: number | null;
  /** `plan`, or the name of a setting; null if there is no limit. */
  readonly setBy: 'plan' | QuotaSetting | null;
}

/** A team's use of the quotas that decisions know, and the limits of its plan. */
type TeamUse = Usage & { readonly [Q in keyof PlanLimits]?: number | null | undefined };

/** Whether a setting limits the quota where the plan does not. */
export function hasDefault(quota: PlanQuota): quota is keyof typeof quotaSettings {
  return quota in quotaSettings;
}

/** The quotas of a team. `logBytes` is the number of bytes that it has appended to the log today. */
export function quotasOf(
  team: TeamUse,
  logBytes: number,
  settings: QuotaSettings,
): { readonly [Q in PlanQuota]: TeamQuota } {
  const shown = planQuotas.map((quota): readonly [PlanQuota, TeamQuota] => {
    const used = quota === 'logBytesPerDay' ? logBytes : team[quota];
    const planMax = team[`${quota}Max`] ?? null;
    if (planMax !== null) return [quota, { used, max: planMax, setBy: 'plan' }];
    const setting = hasDefault(quota) ? quotaSettings[quota] : null;
    const max = setting === null ? null : (settings[setting] ?? null);
    return [quota, { used, max, setBy: max === null ? null : setting }];
  });
  return Object.fromEntries(shown) as { readonly [Q in PlanQuota]: TeamQuota };
}
