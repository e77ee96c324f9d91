/**
 * Notes of how many bytes each team has appended to the log, by day: outside of the log and the read model, because no decision reads them
 * (docs/decisions/0029). A rebuild keeps them.
 */
import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { inTransaction } from '../database/transaction.ts';

const schema = 'tablog_usage';
/** `day`, `team_id`, `bytes`. */
export const logBytesNotes = `${schema}.log_bytes`;

/** How many days are kept. */
const daysKept = 31;

/** What a team has appended in a day, in bytes, and the most that its plan allows; null: its plan says nothing. */
export interface NotedLogBytes {
  readonly teamId: string;
  readonly used: number;
  readonly planMax: number | null;
}

/** The UTC day of a time in milliseconds since 1970: `2026-03-04`. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Creates the table unless it exists. Safe to call concurrently from many processes. */
export async function createLogBytesNotes(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createNotes]);
    await client.query(`create schema if not exists ${schema}`);
    await client.query(
      `create table if not exists ${logBytesNotes} (day date not null, team_id uuid not null, bytes int8 not null, primary key (day, team_id))`,
    );
  });
}

/** Adds bytes, by team ID, to those of the day. */
export async function noteLogBytes(pool: pg.Pool, day: string, bytes: ReadonlyMap<string, number>): Promise<void> {
  await pool.query(
    `insert into ${logBytesNotes} as noted (day, team_id, bytes)
      select $1, * from unnest($2::uuid[], $3::int8[]) as given(team_id, bytes) order by team_id
      on conflict (day, team_id) do update set bytes = noted.bytes + excluded.bytes`,
    [day, [...bytes.keys()], [...bytes.values()]],
  );
}

/** What these teams have appended in the day, through all processes. Teams that do not exist are left out. */
export async function readLogBytes(pool: pg.Pool, day: string, teamIds: readonly string[]): Promise<NotedLogBytes[]> {
  const { rows } = await pool.query<NotedLogBytes>(
    `select id as "teamId", coalesce(bytes, 0)::float8 as used, log_bytes_per_day_max::float8 as "planMax"
      from teams left join ${logBytesNotes} on day = $1 and team_id = id where id = any($2::uuid[])`,
    [day, teamIds],
  );
  return rows;
}

/** How many teams there are whose plan says nothing about the bytes of the log. */
export async function countTeamsWithoutLogLimit(pool: pg.Pool): Promise<number> {
  const { rows: [row] } = await pool.query<{ count: number }>('select count(*)::float8 as count from teams where log_bytes_per_day_max is null');
  return row!.count;
}

/** The bytes appended in the day: by all teams together, and by the team that appended most. */
export async function sumLogBytes(pool: pg.Pool, day: string): Promise<{ readonly allTeams: number; readonly largestTeam: number }> {
  const { rows: [sums] } = await pool.query<{ allTeams: number; largestTeam: number }>(
    `select coalesce(sum(bytes), 0)::float8 as "allTeams", coalesce(max(bytes), 0)::float8 as "largestTeam" from ${logBytesNotes} where day = $1`, [day],
  );
  return sums!;
}

/** Removes what was noted long before this day. */
export async function forgetLogBytes(pool: pg.Pool, day: string): Promise<void> {
  await pool.query(`delete from ${logBytesNotes} where day < $1::date - $2::int`, [day, daysKept]);
}
