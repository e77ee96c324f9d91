/** Guards on teams: their suspension, and their quotas (docs/reference/limits.md). */
import type { Refusal } from '../../src/language/values/refusal.ts';
import {
  planRefusal,
  settingRefusal,
  type PlanLimits,
  type Quota,
  type Usage,
} from '../../src/language/events/quota.ts';
import type { Team } from './team.ts';

/** The message to a suspended team (docs/spec/decisions.md 2). */
export const suspendedMessage = 'the team is suspended';

/** Refuses if the team is suspended. */
export function suspension({ suspended }: Pick<Team, 'suspended'>): Refusal | null {
  return suspended ? { type: 'payment_required', message: suspendedMessage } : null;
}

/**
 * Refuses if the team would use `more` than it may. The limit is that of its plan. If the plan sets none, it is
 * `settingMax`, the setting as recorded in the event; absent: no limit.
 */
export function exceededQuota<Q extends Quota>(
  team: Pick<Usage, Q> & Pick<PlanLimits, `${Q}Max`>,
  quota: Q,
  more: number,
  settingMax?: number,
): Refusal | null {
  const used: number = team[quota];
  const planMax: number | null = team[`${quota}Max`];
  const max = planMax ?? settingMax ?? Infinity;
  if (more <= 0 || used + more <= max) return null;
  return planMax === null
    ? { type: 'limit_exceeded', message: settingRefusal(quota, used, max) }
    : { type: 'payment_required', message: planRefusal(quota, used, max) };
}
