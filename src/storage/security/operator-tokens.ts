/**
 * The access tokens of operators, which are valid only for the routes under `/admin`. They are stored outside of the
 * log and the read model: no decision reads them, and an operator needs them most while the log takes no events
 * (docs/decisions/0034).
 */
import type pg from 'pg';
import { operatorTokens, useNotes } from './token-notes.ts';

/** A token, as lists show it. */
export interface OperatorToken {
  readonly id: string;
  readonly name: string;
  /** The token is refused from this log time on, in milliseconds; null: it does not expire. */
  readonly expiresAt: number | null;
  readonly revoked: boolean;
  /** In milliseconds since 1970. */
  readonly createdAt: number;
  /** Its last characters; null: not known. */
  readonly endsIn: string | null;
  /** The last recorded use, in milliseconds of log time; null: none. */
  readonly usedAt: number | null;
}

/** A token to be stored: `hash` is its SHA-256. */
export interface NewOperatorToken extends Pick<OperatorToken, 'id' | 'name' | 'expiresAt' | 'endsIn'> {
  readonly hash: Buffer;
}

export async function addOperatorToken(
  pool: pg.Pool,
  { id, hash, name, expiresAt, endsIn }: NewOperatorToken,
): Promise<void> {
  await pool.query(`insert into ${operatorTokens} (id, hash, name, expires_at, ends_in) values ($1, $2, $3, $4, $5)`, [
    id,
    hash,
    name,
    expiresAt,
    endsIn,
  ]);
}

/**
 * Up to `limit` tokens with an ID greater than `after` (null: from the first), in the order of their IDs. That is the
 * order of creation, because a UUID of version 7 begins with the time.
 */
export async function listOperatorTokens(
  pool: pg.Pool,
  after: string | null = null,
  limit: number | null = null,
): Promise<OperatorToken[]> {
  const { rows } = await pool.query<OperatorToken>(
    `select id, name, expires_at::float8 as "expiresAt", revoked, used_at::float8 as "usedAt", ends_in as "endsIn",
        ('x' || left(translate(id::text, '-', ''), 12))::bit(48)::int8::float8 as "createdAt"
      from ${operatorTokens} left join ${useNotes} uses on uses.token_id = id where $1::uuid is null or id > $1
      order by id limit $2`,
    [after, limit],
  );
  return rows;
}

/** Refuses the token from now on. Idempotent. Resolves to its name; null if there is no such token. */
export async function revokeOperatorToken(pool: pg.Pool, id: string): Promise<string | null> {
  const {
    rows: [token],
  } = await pool.query<{ name: string }>(`update ${operatorTokens} set revoked = true where id = $1 returning name`, [
    id,
  ]);
  return token?.name ?? null;
}
