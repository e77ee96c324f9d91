/** Commands about plans, from the command line: SetPlan, SuspendTeam, ResumeTeam. */
import { z } from 'zod';
import type { EventOf } from '../src/events/event.ts';
import { parse } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

/** The limits of a team; null: no limit; absent: unchanged. */
export interface Plan {
  /** The most rows that all tables of the team may show. */
  readonly rowsMax?: number | null;
  /** The most bytes that the files of the team may have. */
  readonly uploadBytesMax?: number | null;
}

const limit = z.number().int().min(0).nullable();
const planChange = z.strictObject({ rowsMax: limit.exactOptional(), uploadBytesMax: limit.exactOptional() });

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
