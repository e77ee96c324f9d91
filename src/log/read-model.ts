/**
 * Creates a read model. It is never migrated: a new shape gets a new name (`readModelSchema` in projections/models.ts),
 * and so a Postgres schema of its own, which the next start fills from the log (ARCHITECTURE.md, "Invariants" 10).
 */
import type { EntitySchema } from '@mikro-orm/core';
import { advisoryLocks } from '../storage/database/advisory-locks.ts';
import { sqlOfEntities } from '../storage/database/entities-sql.ts';
import type { Database } from '../storage/database/database.ts';
import { asLongWork } from '../storage/database/long-work.ts';
import { inTransaction } from '../storage/database/transaction.ts';
import { outcomeStorage } from './garbage.ts';
import { createLocalKeys } from './batch/local-keys.ts';
import type { Models } from './model.ts';
import { OutcomeEntity } from './outcomes/outcome.entity.ts';
import { ProgressEntity } from './progress/progress.entity.ts';
import { QuarantineEntity } from './quarantine/quarantine.entity.ts';

/** The tables of a read model. */
export function entitiesOf(models: Models): readonly EntitySchema[] {
  return [
    ProgressEntity,
    OutcomeEntity,
    QuarantineEntity,
    ...Object.values(models).flatMap(({ entities }) => entities),
  ];
}

/** The SQL that creates the tables of a read model. Generating it takes a fifth of a second. */
export async function tablesSqlOf(models: Models): Promise<string> {
  const statements = [
    'alter table progress set (fillfactor = 50)',
    outcomeStorage,
    createLocalKeys,
    ...Object.values(models).flatMap(({ storage }) => storage),
  ];
  const tables = await sqlOfEntities(entitiesOf(models));
  return `-- Made from the entities and the storage of the models (src/log/read-model.ts).\n\n${tables}\n\n${statements.join(';\n')};\n`;
}

/**
 * Creates the read model, empty and at offset 0 of every partition, unless it exists. Safe to call concurrently.
 * @param readTablesSql returns the SQL that creates its tables
 */
export async function createReadModel(
  readTablesSql: () => Promise<string>,
  database: Database,
  partitions: number,
): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createReadModel]);
    const { rows } = await client.query('select 1 from pg_namespace where nspname = $1', [database.schema]);
    if (rows.length > 0) return;
    await client.query(`create schema ${database.schema}`);
    await client.query(await readTablesSql());
    await client.query(
      `insert into progress (partition, next, epoch, base, time) select n, 0, 0, 0, 0 from generate_series(0, $1 - 1) n`,
      [partitions],
    );
  });
}

/** Another read model has replaced the one that this process opened. */
export class ReadModelReplaced extends Error {
  override readonly name = 'ReadModelReplaced';
}

/**
 * Remembers the present read model. Resolves to a check, which rejects with ReadModelReplaced once another read model
 * has its name.
 */
export async function rememberReadModel({ pool }: Pick<Database, 'pool'>): Promise<() => Promise<void>> {
  const identify = async (): Promise<unknown> =>
    (await pool.query('select current_schema()::regnamespace::oid as id')).rows[0].id;
  const identity = await identify();
  return async () => {
    if ((await identify()) !== identity)
      throw new ReadModelReplaced('the read model was replaced, and this process is about to open the new one');
  };
}

export async function dropReadModel(database: Database): Promise<void> {
  await asLongWork(() => database.pool.query(`drop schema if exists ${database.schema} cascade`));
}
