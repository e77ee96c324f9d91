/**
 * Stores where the log is once it was moved (src/administration/move-log.ts), and closes the log in Postgres: a trigger
 * refuses every append, of processes of any version, in the append's own transaction.
 */
import type pg from 'pg';
import { allowWrites, refuseWrites } from '../../storage/database/refusing-trigger.ts';
import { createLogTables, logSchema } from './log-tables.ts';

export type LogKind = 'postgres' | 'kafka';

/** A code that Postgres itself does not use. */
const closedCode = 'TL001';

/** Whether an append failed because the log in Postgres is closed. */
export function isLogClosed(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if ((cause as { code?: unknown }).code === closedCode) return true;
  }
  return false;
}

/** The kind of log that now holds the events; null if the log was never moved. */
export async function readLogPlace(connection: Pick<pg.ClientBase, 'query'>): Promise<LogKind | null> {
  const {
    rows: [found],
  } = await connection.query<{ there: boolean }>(`select to_regclass('${logSchema}.place') is not null as there`);
  if (!found!.there) return null;
  const { rows } = await connection.query<{ log: LogKind }>(`select log from ${logSchema}.place`);
  return rows[0]?.log ?? null;
}

/**
 * How often the log has moved. If a process missed a move and the move back, this number shows that it uses a wrong
 * log: another topic may hold the log, and the process's fencing tokens are void.
 */
export async function readMoves(connection: Pick<pg.ClientBase, 'query'>): Promise<string> {
  if ((await readLogPlace(connection)) === null) return '0';
  // A log that an earlier version moved does not have the column.
  const { rows } = await connection.query<{ moves: string }>(
    `select coalesce(to_jsonb(place) ->> 'moves', '0') as moves from ${logSchema}.place`,
  );
  return rows[0]!.moves;
}

/** The log has moved since this process opened it. */
export class LogMoved extends Error {
  override readonly name = 'LogMoved';
}

/**
 * Remembers how often the log has moved. Resolves to a check, which rejects with LogMoved once the log has moved again.
 */
export async function rememberMoves(connection: Pick<pg.ClientBase, 'query'>): Promise<() => Promise<void>> {
  const known = await readMoves(connection);
  return async () => {
    if ((await readMoves(connection)) !== known)
      throw new LogMoved('the log has moved, and this process is about to end');
  };
}

/**
 * The message for a process whose settings name Kafka although the log is in Postgres, or the other way round. `log`:
 * where the log is.
 */
export function describeLogPlace(log: LogKind): string {
  return log === 'kafka'
    ? 'the log is in Kafka: set KAFKA_BROKERS, and KAFKA_TOPIC if it is not the usual one, and start again'
    : 'the log is in Postgres: remove the settings that begin with KAFKA_, and ROLE, and start again';
}

/** Prepares a database for moves. */
export async function prepareMoves(pool: pg.Pool, partitions: number): Promise<void> {
  await createLogTables(pool, partitions);
  await pool.query(`create table if not exists ${logSchema}.place (
    singleton boolean primary key default true check (singleton),
    log text not null
  )`);
  await pool.query(`alter table ${logSchema}.place add column if not exists moves bigint not null default 0`);
  // Copies pass the trigger: they are made only while the log is elsewhere.
  await pool.query(`create or replace function ${logSchema}.refuse_append() returns trigger language plpgsql as $$
    begin
      if current_setting('tablog.copies', true) is distinct from 'on' then
        raise exception 'the log in Postgres is closed: it moves, or has moved, to Kafka' using errcode =
        '${closedCode}';
      end if;
      return null;
    end $$`);
}

/** Lets the transaction's copies pass the trigger. */
export const allowCopies = `set local tablog.copies = 'on'`;

/** Closes the log in Postgres after the appends in flight. From then on each append fails. */
export async function closePostgresLog(client: pg.ClientBase): Promise<void> {
  await refuseWrites(client, {
    writes: 'before insert',
    table: `${logSchema}.records`,
    each: 'for each statement',
    by: `${logSchema}.refuse_append`,
  });
}

export async function openPostgresLog(client: pg.ClientBase): Promise<void> {
  await allowWrites(client, `${logSchema}.records`);
}

/** Stores where a log is that was never moved, so that no process begins the other kind while the log moves. */
export async function noteFirstPlace(client: pg.ClientBase, log: LogKind): Promise<void> {
  await client.query(`insert into ${logSchema}.place (log) values ($1) on conflict do nothing`, [log]);
}

export async function noteLogPlace(client: pg.ClientBase, log: LogKind): Promise<void> {
  await client.query(
    `insert into ${logSchema}.place (log, moves) values ($1, 1) on conflict (singleton) do update set log = excluded.log, moves = place.moves + 1`,
    [log],
  );
}
