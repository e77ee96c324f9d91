/**
 * Notes about the bytes that each team has appended to the log and taken on disks, by day. They are outside of the log
 * and the read model, because no decision reads them (docs/decisions/0029). A rebuild keeps them.
 */
import type pg from 'pg';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { inTransaction } from '../../storage/database/transaction.ts';
import type { TakenBytes } from './disk-share.ts';

const schema = 'tablog_usage';
/** `day`, `team_id`, `bytes` in the log, and `table_bytes` and `file_bytes` on disks. */
export const logBytesNotes = `${schema}.log_bytes`;

/** How many days notes are kept. */
const daysKept = 31;

/**
 * The bytes that a team has appended in a day and taken on disks. `planMax` is the limit of its plan for appended
 * bytes; null: the plan has none.
 */
export interface NotedLogBytes {
  readonly teamId: string;
  readonly used: number;
  readonly tables: number;
  readonly files: number;
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
    // Alter the table only if the columns are missing: the statement would wait for a backup that reads the table.
    const { rows } = await client.query(
      `select from pg_attribute where attrelid = '${logBytesNotes}'::regclass and attname = 'table_bytes'`,
    );
    if (rows.length > 0) return;
    await client.query(
      `alter table ${logBytesNotes} add column table_bytes int8 not null default 0, add column file_bytes int8 not null default 0`,
    );
  });
}

/** Adds bytes, by team ID, to the notes of the day. */
export async function noteLogBytes(pool: pg.Pool, day: string, bytes: ReadonlyMap<string, TakenBytes>): Promise<void> {
  await pool.query(
    `insert into ${logBytesNotes} as noted (day, team_id, bytes, table_bytes, file_bytes)
      select $1, * from unnest($2::uuid[], $3::int8[], $4::int8[], $5::int8[]) as given(team_id, bytes, table_bytes,
      file_bytes) order by team_id
      on conflict (day, team_id) do update set
        bytes = noted.bytes + excluded.bytes, table_bytes = noted.table_bytes + excluded.table_bytes, file_bytes =
        noted.file_bytes + excluded.file_bytes`,
    [
      day,
      [...bytes.keys()],
      ...(['log', 'tables', 'files'] as const).map((kind) => Array.from(bytes.values(), (taken) => taken[kind])),
    ],
  );
}

/** The bytes that these teams have appended in the day, through all processes. Teams that do not exist are left out. */
export async function readLogBytes(pool: pg.Pool, day: string, teamIds: readonly string[]): Promise<NotedLogBytes[]> {
  const { rows } = await pool.query<NotedLogBytes>(
    `select id as "teamId", coalesce(bytes, 0)::float8 as used, coalesce(table_bytes, 0)::float8 as tables,
    coalesce(file_bytes, 0)::float8 as files,
        log_bytes_per_day_max::float8 as "planMax"
      from teams left join ${logBytesNotes} on day = $1 and team_id = id where id = any($2::uuid[])`,
    [day, teamIds],
  );
  return rows;
}

/** Whether there are two teams or more. */
export async function hasSeveralTeams(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query('select from teams limit 2');
  return rows.length === 2;
}

/** The number of teams whose plan does not limit the bytes of the log. */
export async function countTeamsWithoutLogLimit(pool: pg.Pool): Promise<number> {
  const {
    rows: [row],
  } = await pool.query<{ count: number }>(
    'select count(*)::float8 as count from teams where log_bytes_per_day_max is null',
  );
  return row!.count;
}

/** The bytes appended in the day: by all teams together, and by the team that appended most. */
export async function sumLogBytes(
  pool: pg.Pool,
  day: string,
): Promise<{ readonly allTeams: number; readonly largestTeam: number }> {
  const {
    rows: [sums],
  } = await pool.query<{ allTeams: number; largestTeam: number }>(
    `select coalesce(sum(bytes), 0)::float8 as "allTeams", coalesce(max(bytes), 0)::float8 as "largestTeam" from ${logBytesNotes} where day = $1`,
    [day],
  );
  return sums!;
}

/** Removes notes that are more than 31 days older than this day. */
export async function forgetLogBytes(pool: pg.Pool, day: string): Promise<void> {
  await pool.query(`delete from ${logBytesNotes} where day < $1::date - $2::int`, [day, daysKept]);
}
