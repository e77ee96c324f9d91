/**
 * Closes a read model to the log in Kafka, when that moves to Postgres: nobody can take a partition over, so nothing that is appended there later has an
 * effect. A trigger refuses it, to processes of any version.
 */
import type pg from 'pg';
import { logSchema } from '../../../src/log/postgres/log-tables.ts';

/** Begins the reason that stands in the progress while the log moves. */
const closedReason = 'the log in Kafka is closed: it moves, or has moved, to Postgres';

/** Fences off all owners, and takes no appends and no takeovers from then on. */
export async function closeToKafka(client: pg.ClientBase): Promise<void> {
  await client.query('lock table progress in share row exclusive mode');
  await client.query('drop trigger if exists log_is_closed on progress');
  await client.query(`update progress set epoch = epoch + 1 + floor(random() * ${2 ** 40})::int8, halted = $1, contradicted = true`, [closedReason]);
  await client.query(`create or replace function ${logSchema}.refuse_takeover() returns trigger language plpgsql as $$
    begin raise exception '${closedReason}' using errcode = 'TL001'; end $$`);
  await client.query(`create trigger log_is_closed before update of epoch on progress for each statement execute function ${logSchema}.refuse_takeover()`);
}

/** Lets partitions be taken over, and projected, again. */
export async function openToKafka(client: pg.ClientBase): Promise<void> {
  await client.query('drop trigger if exists log_is_closed on progress');
  await client.query('update progress set halted = null, contradicted = false where halted = $1', [closedReason]);
}

/** Lets the log in Postgres be projected, and that in Kafka no more. There each process projects under the epoch 0. */
export async function openToPostgres(client: pg.ClientBase): Promise<void> {
  await client.query('alter table progress disable trigger log_is_closed');
  await client.query('update progress set epoch = 0, halted = null, contradicted = false where halted = $1', [closedReason]);
  await client.query('alter table progress enable trigger log_is_closed');
}
