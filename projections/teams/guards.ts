/** Guards on teams: their suspension, and their quotas (docs/limits.md). */
import type { Refusal } from '../../src/events/outcome.ts';
import { planRefusal, settingRefusal, type Quota } from '../../src/events/quota.ts';
import type { Team } from './team.ts';

/** The message to a suspended team (docs/spec/decisions.md 2). */
export const suspendedMessage = 'the team is suspended';

/**
 * Refuses if the team would use `more` than it may. Its plan decides or, where that says nothing, `settingMax`: the setting as recorded in
 * the event; absent: no limit.
 */
export function exceededQuota(team: Team, quota: Quota, more: number, settingMax?: number): Refusal | null {
  const used = team[quota];
  const planMax = team[`${quota}Max`];
  const max = planMax ?? settingMax ?? Infinity;
  if (more <= 0 || used + more <= max) return null;
  return planMax === null
    ? { type: 'limit_exceeded', message: settingRefusal(quota, used, max) }
    : { type: 'payment_required', message: planRefusal(quota, used, max) };
}
