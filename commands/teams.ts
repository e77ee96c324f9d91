/** What the command line asks of teams and tokens: CreateTeam, SuspendTeam, ResumeTeam, SetPlan, CreateToken, RevokeToken. */
import { z } from 'zod';
import type { EventOf } from '../src/events/event.ts';
import { parse, text } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

const invalid = (message: string): Error => new InvalidRequest(message);
const named = z.object({ name: text(256).refine((name) => name.trim() !== '', 'must not be blank') });
const rowCount = z.number().int().min(0).nullable();

/** The name is a label: others may have the same. Throws InvalidRequest for one that is blank or too long. */
export function createTeam(teamId: string, name: string): EventOf<'TeamCreated'> {
  return { type: 'TeamCreated', teamId, ...parse(named, { name }, invalid) };
}

export function suspendTeam(teamId: string): EventOf<'TeamSuspended'> {
  return { type: 'TeamSuspended', teamId };
}

export function resumeTeam(teamId: string): EventOf<'TeamResumed'> {
  return { type: 'TeamResumed', teamId };
}

/** `rowsMax`: how many rows all tables of the team may show; null: no limit. Throws InvalidRequest. */
export function setPlan(teamId: string, rowsMax: number | null): EventOf<'TeamPlanSet'> {
  return { type: 'TeamPlanSet', teamId, rowsMax: parse(rowCount, rowsMax, invalid) };
}

/** `hash` is all that is kept of the token. Throws InvalidRequest for a name that is blank or too long. */
export function createToken(teamId: string, tokenId: string, name: string, hash: Buffer): EventOf<'TokenCreated'> {
  return { type: 'TokenCreated', teamId, tokenId, ...parse(named, { name }, invalid), hash: hash.toString('hex') };
}

export function revokeToken(teamId: string, tokenId: string): EventOf<'TokenRevoked'> {
  return { type: 'TokenRevoked', teamId, tokenId };
}
