/**
 * Closes a read model to the log in Kafka, when that moves to Postgres: nobody can take a partition over, so nothing
 * that is appended there later has an effect; and nobody can mark one as contradicted, because it is projected further
 * than the log in Kafka goes. A trigger refuses it, to processes of any version.
 */
import type pg from 'pg';
import { allowWrites, areWritesRefused, refuseWrites } from '../../storage/database/refusing-trigger.ts';
import { logSchema } from '../postgres/log-tables.ts';

/** Begins the reason that stands in the progress while the log moves. */
const closedReason = 'the log in Kafka is closed: it moves, or has moved, to Postgres';

/** Fences off all owners, and takes no appends and no takeovers from then on. */
export async function closeToKafka(client: pg.ClientBase): Promise<void> {
  await client.query('lock table progress in share row exclusive mode');
  await allowWrites(client, 'progress');
  await client.query(
    `update progress set epoch = epoch + 1 + floor(random() * ${2 ** 40})::int8, halted = $1, contradicted = true`,
    [closedReason],
  );
  await refuseTakeovers(client, 'progress');
}

/** Closes the read model in the schema `to` if that in `from` is closed, whose place it takes. */
export async function keepClosedToKafka(client: pg.ClientBase, from: string, to: string): Promise<void> {
  if (await areWritesRefused(client, `${from}.progress`)) await refuseTakeovers(client, `${to}.progress`);
}

async function refuseTakeovers(client: pg.ClientBase, table: string): Promise<void> {
  await client.query(`create or replace function ${logSchema}.refuse_takeover() returns trigger language plpgsql as $$
    begin
      if current_setting('tablog.epochs', true) is distinct from 'on' then
        raise exception '${closedReason}' using errcode = 'TL001';
      end if;
      return new;
    end $$`);
  await refuseWrites(client, {
    writes: 'before update of epoch, contradicted',
    table,
    by: `${logSchema}.refuse_takeover`,
    each: 'for each row when (old.epoch <> new.epoch or (new.contradicted and not old.contradicted))',
  });
}

/** Lets partitions be taken over, and projected, again. */
export async function openToKafka(client: pg.ClientBase): Promise<void> {
  await allowWrites(client, 'progress');
  await client.query('update progress set halted = null, contradicted = false where halted = $1', [closedReason]);
}

/** Lets the log in Postgres be projected, and that in Kafka no more. */
export async function openToPostgres(client: pg.ClientBase): Promise<void> {
  await client.query('update progress set halted = null, contradicted = false where halted = $1', [closedReason]);
}

/** Lets the transaction raise epochs all the same: a read model takes the place of another one. */
export const allowNewEpochs = `set local tablog.epochs = 'on'`;
