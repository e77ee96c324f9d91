/**
 * Creates, revokes and shows access tokens of teams and operators, for the command line and the routes of operators.
 */
import { randomUUIDv7 } from 'node:crypto';
import type pg from 'pg';
import { InvalidRequest } from '../../commands/invalid-request.ts';
import { createToken, parseTokenName, type TokenLimits } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/hash-token.ts';
import type { TokenSummary } from '../../projections/teams/teams.queries.ts';
import type { EventLog } from '../log/event-log.ts';
import { recordFact } from '../log/record-fact.ts';
import { recordRevocation } from './tell-revocations.ts';
import { endOfToken, newAccessToken } from '../storage/security/access-token.ts';
import { addOperatorToken, type OperatorToken } from '../storage/security/operator-tokens.ts';
import { noteRevocation } from '../storage/security/token-notes.ts';

/** A new token. `token` is its secret, which is shown once. */
export interface NewToken {
  readonly id: string;
  readonly token: string;
}

export function newToken(): NewToken {
  return { id: randomUUIDv7(), token: newAccessToken() };
}

/** A unique name for a token that the caller did not name. `now` is in milliseconds since 1970. */
export function nameOfUnnamed({ token }: NewToken, now: number): string {
  return `made ${new Date(now)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z')}, ends in ${endOfToken(token)}`;
}

/**
 * Records a token of a team. Rejects with InvalidRequest for a wrong name, expiry or app, and as `EventLog.append`
 * does.
 */
export async function recordToken(
  log: EventLog,
  teamId: string,
  { id, token }: NewToken,
  name: string,
  limits: TokenLimits,
): Promise<void> {
  refusePassed(limits.expiresAt, log.now());
  await recordFact(log, createToken(teamId, id, name, hashToken(token), { ...limits, endsIn: endOfToken(token) }));
}

/**
 * Stores a token of an operator. `expiresAt` is in milliseconds since 1970; null: never. Rejects with InvalidRequest
 * for a wrong name or expiry.
 */
export async function storeOperatorToken(
  pool: pg.Pool,
  { id, token }: NewToken,
  name: string,
  expiresAt: number | null,
): Promise<void> {
  refusePassed(expiresAt, Date.now());
  await addOperatorToken(pool, {
    id,
    hash: hashToken(token),
    name: parseTokenName(name),
    expiresAt,
    endsIn: endOfToken(token),
  });
}

/**
 * Revokes a token of a team. Services refuse the token as soon as Postgres has the note, even while the log is
 * unavailable. Then the revocation is appended to the log, which `withLog` opens. Resolves to null, or to the error of
 * the append: then maintenance of the service appends it later.
 */
export async function revokeTeamToken(
  pool: pg.Pool,
  { id, teamId }: Pick<TokenSummary, 'id' | 'teamId'>,
  withLog: (work: (log: EventLog) => Promise<void>) => Promise<void>,
): Promise<Error | null> {
  await noteRevocation(pool, id);
  return withLog((log) => recordRevocation(log, teamId, id)).then(
    () => null,
    (error: Error) => error,
  );
}

/** A moment in milliseconds since 1970 as ISO 8601; null: never. */
export function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** `{id, name, createdAt, endsIn, revoked, expiresAt, lastUsedAt}`: moments as ISO 8601, or null for never. */
export function operatorTokenAsJson({ id, name, createdAt, endsIn, revoked, expiresAt, usedAt }: OperatorToken) {
  // Round the last use down to the minute: uses are written once a minute.
  return {
    id,
    name,
    createdAt: toIso(createdAt),
    endsIn,
    revoked,
    expiresAt: toIso(expiresAt),
    lastUsedAt: toIso(usedAt === null ? null : usedAt - (usedAt % 60_000)),
  };
}

/** The members of `operatorTokenAsJson`, and `readOnly` and `appID`. */
export function tokenAsJson(token: TokenSummary) {
  return { ...operatorTokenAsJson(token), readOnly: token.readOnly, appID: token.appId };
}

function refusePassed(expiresAt: number | null | undefined, now: number): void {
  if (typeof expiresAt === 'number' && expiresAt <= now)
    throw new InvalidRequest('expires: that time has passed already');
}
