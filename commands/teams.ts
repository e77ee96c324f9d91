/** What the command line asks of teams and tokens: CreateTeam, CreateToken, RevokeToken. */
import { z } from 'zod';
import type { EventOf } from '../src/events/event.ts';
import { appId, parse, text } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

const invalid = (message: string): Error => new InvalidRequest(message);
const named = z.object({ name: text(256).refine((name) => name.trim() !== '', 'must not be blank') });

/** The name is a label: others may have the same. Throws InvalidRequest for one that is blank or too long. */
export function createTeam(teamId: string, name: string): EventOf<'TeamCreated'> {
  return { type: 'TeamCreated', teamId, ...parse(named, { name }, invalid) };
}

const newToken = named.extend({
  expiresAt: z.number().int().min(0).nullable().default(null),
  readOnly: z.boolean().default(false),
  appId: appId.nullable().default(null),
});

/** What a token may do. What is left out limits it in nothing. */
export interface TokenLimits {
  /** From this time on, in milliseconds of log time, it is refused; null: never. */
  readonly expiresAt?: number | null;
  /** Whether it may change nothing. */
  readonly readOnly?: boolean;
  /** The only app that it is for; null: for all of the team. */
  readonly appId?: string | null;
}

/**
 * `hash` is all that is kept of the token. Throws InvalidRequest for a name that is blank or too long, and for what can be no
 * time or no app.
 */
export function createToken(
  teamId: string,
  tokenId: string,
  name: string,
  hash: Buffer,
  limits: TokenLimits = {},
): EventOf<'TokenCreated'> {
  return { type: 'TokenCreated', teamId, tokenId, hash: hash.toString('hex'), ...parse(newToken, { name, ...limits }, invalid) };
}

export function revokeToken(teamId: string, tokenId: string): EventOf<'TokenRevoked'> {
  return { type: 'TokenRevoked', teamId, tokenId };
}
