/** Commands about plans, of operators: SetPlan, SuspendTeam, ResumeTeam. */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { PlanLimits } from '../src/language/events/quota.ts';
import { parse } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

/**
 * Limits of a team. null: the default of the settings, which is no limit for rows and for bytes of files. Absent:
 * unchanged.
 */
export type Plan = Partial<PlanLimits>;

const limit = z.number().int().min(0).nullable().exactOptional();
/** The limits that change. */
export const planChange = z.strictObject({
  rowsMax: limit,
  tablesMax: limit,
  stashesMax: limit,
  openBodiesMax: limit,
  openUploadsMax: limit,
  openUploadBytesMax: limit,
  uploadBytesMax: limit,
  logBytesPerDayMax: limit,
} satisfies Record<keyof PlanLimits, z.ZodType>);

/** Throws InvalidRequest for a limit that is not a whole number. */
export function setPlan(teamId: string, plan: Plan): EventOf<'TeamPlanSet'> {
  return { type: 'TeamPlanSet', teamId, ...parse(planChange, plan, (message) => new InvalidRequest(message)) };
}

export function suspendTeam(teamId: string): EventOf<'TeamSuspended'> {
  return { type: 'TeamSuspended', teamId };
}

export function resumeTeam(teamId: string): EventOf<'TeamResumed'> {
  return { type: 'TeamResumed', teamId };
}
