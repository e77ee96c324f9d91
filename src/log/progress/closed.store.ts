/**
 * Closes a read model to the log in Kafka when the log moves to Postgres. A trigger then refuses two updates, of
 * processes of any version. No process can take a partition over, so later appends to Kafka have no effect. And no
 * process can mark a partition as contradicted because its progress is past the end of the log in Kafka.
 */
import type pg from 'pg';
import { allowWrites, areWritesRefused, refuseWrites } from '../../storage/database/refusing-trigger.ts';
import { logSchema } from '../postgres/log-tables.ts';

/** The stored halt reason while the log moves. Must not change: other versions look for this text. */
const closedReason = 'the log in Kafka is closed: it moves, or has moved, to Postgres';

/** Fences off all owners. From then on appends and takeovers are refused. */
export async function closeToKafka(client: pg.ClientBase): Promise<void> {
  await client.query('lock table progress in share row exclusive mode');
  await allowWrites(client, 'progress');
  await client.query(
    `update progress set epoch = epoch + 1 + floor(random() * ${2 ** 40})::int8, halted = $1, contradicted = true`,
    [closedReason],
  );
  await refuseTakeovers(client, 'progress');
}

/** Closes the read model in the schema `to` if the one in `from`, which it replaces, is closed. */
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

/** Lets partitions be taken over and projected again. */
export async function openToKafka(client: pg.ClientBase): Promise<void> {
  await allowWrites(client, 'progress');
  await client.query('update progress set halted = null, contradicted = false where halted = $1', [closedReason]);
}

/** Lets the log in Postgres be projected, but no longer the log in Kafka. */
export async function openToPostgres(client: pg.ClientBase): Promise<void> {
  await client.query('update progress set halted = null, contradicted = false where halted = $1', [closedReason]);
}

/** Still lets this transaction raise epochs, because it replaces a read model by another. */
export const allowNewEpochs = `set local tablog.epochs = 'on'`;
