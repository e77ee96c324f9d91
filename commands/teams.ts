/** Commands about teams and tokens, of operators: CreateTeam, CreateToken, RevokeToken. */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import { appId, parse, boundedText } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

const invalid = (message: string): Error => new InvalidRequest(message);
/** The name of a team or token. */
export const name = boundedText(256).refine((given) => given.trim() !== '', 'must not be blank');
const named = z.object({ name });

/** The name is a label and need not be unique. Throws InvalidRequest if it is blank or too long. */
export function createTeam(teamId: string, name: string): EventOf<'TeamCreated'> {
  return { type: 'TeamCreated', teamId, ...parse(named, { name }, invalid) };
}

/** The name of a token that belongs to no team. Throws InvalidRequest if it is blank or too long. */
export function parseTokenName(name: string): string {
  return parse(named, { name }, invalid).name;
}

const newToken = named.extend({
  expiresAt: z.number().int().min(0).nullable().default(null),
  readOnly: z.boolean().default(false),
  appId: appId.nullable().default(null),
});

/** The limits of a token; absent: not limited. */
export interface TokenLimits {
  /** Expiry in milliseconds of log time: the token is refused from then on; null: never. */
  readonly expiresAt?: number | null;
  /** Whether it may only read. */
  readonly readOnly?: boolean;
  /** The only app that the token grants access to; null: the whole team. */
  readonly appId?: string | null;
}

/** `endsIn`: the token's last characters; absent: unknown. */
interface TokenDetails extends TokenLimits {
  readonly endsIn?: string;
}

/**
 * Of the token itself, only `hash` and `endsIn` are stored. Throws InvalidRequest if the name is blank or too long, or
 * if the expiry or the app is invalid.
 */
export function createToken(
  teamId: string,
  tokenId: string,
  name: string,
  hash: Buffer,
  { endsIn, ...limits }: TokenDetails = {},
): EventOf<'TokenCreated'> {
  return {
    type: 'TokenCreated',
    teamId,
    tokenId,
    hash: hash.toString('hex'),
    ...parse(newToken, { name, ...limits }, invalid),
    ...(endsIn !== undefined && { endsIn }),
  };
}

export function revokeToken(teamId: string, tokenId: string): EventOf<'TokenRevoked'> {
  return { type: 'TokenRevoked', teamId, tokenId };
}
