/**
 * Making a read model. It is never migrated: a new shape gets a new number here, and with it a Postgres schema of its
 * own that is filled from the log at the next start (ARCHITECTURE.md, "Evolution").
 */
import { advisoryLocks } from '../src/database/advisory-locks.ts';
import type { Database } from '../src/database/database.ts';
import { inTransaction } from '../src/database/transaction.ts';
import { smallLinkBytes } from './segments/compaction.ts';
import { createLocalKeys } from './segments/local-keys.ts';

/** The Postgres schema that this version of the code reads and writes. */
export const readModelSchema = 'tablog_6';

/** What MikroORM's schema generator has no words for. */
const storageSettings = [
  // Room on each page keeps updates of the hot rows beside their old versions, without touching an index.
  'alter table tables set (fillfactor = 50)',
  'alter table progress set (fillfactor = 50)',
  'alter table changes set (fillfactor = 85)',
  'alter table links set (fillfactor = 85)',
  // What compaction looks for, so that it finds nothing quickly.
  'create index links_received on links (table_id) where presented is null',
  'create index links_presented on links (table_id, presented, version) where presented is not null',
  'create index tables_widened on tables (id) where widened > 0',
  `create index links_small on links (table_id, version, ordinal) where not merged and bytes < ${smallLinkBytes}`,
  // What the sweeper looks at.
  'create index tables_deleted on tables (id) where deleted',
  'create index generations_shown on generations (ended_at) where not swept',
  'create index generations_to_clear on generations (table_id, version) where swept and not cleared',
  'create index generations_to_forget on generations (ended_at) where cleared',
  'create index stashes_to_clear on stashes (key) where ended_at is not null and not cleared',
  'create index stashes_to_forget on stashes (ended_at) where cleared',
  'create index stashes_to_expire on stashes (expires_at) where ended_at is null',
  'create index chunk_blocks_replaced on chunk_blocks (chunk) where stash is null',
  'create index uploads_to_expire on uploads (expires_at) where file is null and removed_at is null',
  'create index uploads_unclaimed on uploads ((unclaimed_since + unclaimed_life_ms)) where removed_at is null',
  'create index uploads_with_files on uploads (id) where file is not null and removed_at is null',
  'create index uploads_to_clear on uploads (id) where removed_at is not null and not cleared',
  'create index segments_dropped on segments (key) where dropped',
  'create index segments_idle on segments (idle_since) where not emptied',
  createLocalKeys,
];

/** Makes the read model, empty and at offset 0 of every partition, unless it is there. Safe to call at once from many. */
export async function createReadModel(database: Database, partitions: number): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createReadModel]);
    const { rows } = await client.query('select 1 from pg_namespace where nspname = $1', [database.schema]);
    if (rows.length > 0) return;
    await client.query(`create schema ${database.schema}`);
    await client.query(await database.orm.schema.getCreateSchemaSQL({ wrap: false }));
    for (const statement of storageSettings) await client.query(statement);
    await client.query(
      `insert into progress (partition, next, epoch, base, time) select n, 0, 0, 0, 0 from generate_series(0, $1 - 1) n`,
      [partitions],
    );
  });
}

export async function dropReadModel(database: Database): Promise<void> {
  await database.pool.query(`drop schema if exists ${database.schema} cascade`);
}
