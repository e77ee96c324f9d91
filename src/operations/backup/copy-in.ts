/** Copies tables of a set into Postgres. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { withConnection } from '../../storage/database/one-connection.ts';
import { BackupError, type BackupStore, type OnProgress } from './backup-store.ts';
import type { TableBackup } from './manifest.ts';
import { readPacks } from './packs.ts';
import { columnList, qualifiedName } from './stored-tables.ts';

/** How many tables are filled, or indexes built, at once. */
const atOnce = 3;

/** Adds the rows of a set to a table. Rejects with BackupError if their number differs from the manifest's. */
export async function copyIn(
  client: pg.ClientBase,
  schema: string,
  { name, columns, streams }: TableBackup,
  store: BackupStore,
  signal: AbortSignal,
): Promise<void> {
  for (const { rows, packs } of streams) {
    signal.throwIfAborted();
    const stream = client.query(
      copyFrom(`copy ${qualifiedName({ schema, name })} (${columnList(columns)}) from stdin (format binary)`),
    );
    await pipeline(Readable.from(readPacks(store, packs), { objectMode: false }), stream);
    if (stream.rowCount !== rows)
      throw new BackupError(`${stream.rowCount} rows of ${name} were restored, but the set has ${rows}.`);
  }
}

/**
 * Keeps the definitions of a schema's indexes while its tables are filled without them, which is several times faster.
 */
export class IndexesAside {
  readonly #pool: pg.Pool;
  readonly #statements: readonly string[];

  private constructor(pool: pg.Pool, statements: readonly string[]) {
    this.#pool = pool;
    this.#statements = statements;
  }

  /** Drops all indexes and constraints of keys. */
  static async take(pool: pg.Pool, schema: string): Promise<IndexesAside> {
    const { rows } = await pool.query<{ drop: string; make: string }>(
      `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
          format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make
        from pg_constraint where connamespace = $1::regnamespace and contype in ('p', 'u')
      union all
      select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
        from pg_index join pg_class on pg_class.oid = indrelid
        where relnamespace = $1::regnamespace and not exists (select from pg_constraint where conindid = indexrelid)`,
      [schema],
    );
    // Drop all in one transaction: each transaction that removes files waits for the disk.
    await pool.query(rows.map(({ drop }) => drop).join(';\n'));
    return new IndexesAside(
      pool,
      rows.map(({ make }) => make),
    );
  }

  /** Builds the indexes again. */
  async putBack(signal: AbortSignal, onProgress: OnProgress): Promise<void> {
    let done = 0;
    await this.inParallel([...this.#statements], async (client, statement) => {
      signal.throwIfAborted();
      onProgress('indexes', done, this.#statements.length);
      await client.query(statement);
      done += 1;
    });
  }

  /**
   * Works on several items at a time, and takes them out of the list. After an error it waits for the work under way,
   * then rejects with that error.
   */
  async inParallel<T>(waiting: T[], work: (client: pg.PoolClient, item: T) => Promise<void>): Promise<void> {
    const failed = new AbortController();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        try {
          await withConnection(this.#pool, async (client) => {
            for (let next = waiting.shift(); next !== undefined && !failed.signal.aborted; next = waiting.shift())
              await work(client, next);
          });
        } catch (error) {
          failed.abort(error);
        }
      }),
    );
    failed.signal.throwIfAborted();
  }
}
