/**
 * Restores a set into an empty database. All is built beside the places where the service looks for it, and one
 * transaction puts it there: a restore that was interrupted is begun anew.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { digestOf, digestReadModel } from '../../log/compare/digest.ts';
import { createReadModel, dropReadModel, entitiesOf } from '../../log/read-model.ts';
import { models, readModelSchema, readTablesSql } from '../../../projections/models.ts';
import { createLanguageNotes } from '../../log/language-agreement.ts';
import { ReadModelInUse } from '../../log/read-model-use.ts';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { Database } from '../../storage/database/database.ts';
import { createNotes } from '../../api/notes.ts';
import type { LocalFileStore } from '../../storage/files/local-file-store.ts';
import type { RecordLog } from '../../log/event-log.ts';
import { encodeGenesis } from '../../log/identity.ts';
import { appendRecord } from '../../log/postgres/append-record.ts';
import { logSchema } from '../../log/postgres/log-tables.ts';
import { resumeLog } from '../../log/resume.ts';
import { StoredSecretKeys } from '../../storage/security/secret-keys.ts';
import { BackupError, type BackupStore, type OnProgress } from './backup-store.ts';
import { copyIn, IndexesAside } from './copy-in.ts';
import { readKeys, restoreKeys } from './keys.ts';
import { checkSignature, readModelCopies, type BackupSet, type Manifest, type TableCopy } from './manifest.ts';
import type { ManifestKey } from './manifest-key.ts';
import { completeLog, endsOf, restoreLog, type RestoredEnd } from './restore-log.ts';
import { namesOfNotes, readModelTables } from './stored-tables.ts';
import { restoreFiles } from './uploaded-files.ts';

interface RestoreOptions {
  readonly store: BackupStore;
  /** Of Postgres. */
  readonly url: string;
  /**
   * The log in Kafka; what it lacks of the set is copied to it. Null: the log is in Postgres, and is restored from the
   * set.
   */
  readonly kafka: RecordLog | null;
  /** Where the uploaded files of the set go; null if it has none. */
  readonly files: LocalFileStore | null;
  /** With which the set must be signed; null: its signature is not checked. */
  readonly manifestKey: ManifestKey | null;
  /** Null: the signing keys are not restored. */
  readonly passphrase: Buffer | null;
  /** Whether the read model is left out though the set has one of this shape. */
  readonly withoutReadModel: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

const staged = '_restored';

/**
 * Restores the uploaded files, the read model, the log, the notes and the keys. Resolves to whether the read model was
 * restored: if its shape is another one by now, or it is left out, it has to be built from the log. Rejects with
 * BackupError, among others if the set is not signed with the key, with ReadModelInUse, with WrongLog, and with the
 * reason of `signal`.
 */
export async function restore(set: BackupSet, options: RestoreOptions): Promise<boolean> {
  const { manifest } = set;
  if (options.manifestKey !== null) await checkSignature(set, options.manifestKey);
  checkPlaces(manifest);
  const { store, url, kafka, files, passphrase, signal, onProgress } = options;
  await using resources = new AsyncDisposableStack();
  const owner = new pg.Client({
    connectionString: url,
    application_name: 'tablog restore',
    connectionTimeoutMillis: 5000,
  });
  // A broken connection fails the query that runs on it, or the next one.
  owner.on('error', () => undefined);
  resources.defer(() => owner.end());
  await owner.connect();
  // Held until the connection ends. Whoever uses a read model holds it too.
  const { rows } = await owner.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    advisoryLocks.useReadModel,
  ]);
  if (!rows[0]!.taken)
    throw new ReadModelInUse('another process uses the database: stop all that do, and restore into an empty one');
  const pool = new pg.Pool({
    connectionString: url,
    max: 3,
    application_name: 'tablog restore',
    connectionTimeoutMillis: 5000,
  });
  // Ignored: the pool replaces an idle connection that breaks.
  pool.on('error', () => undefined);
  resources.defer(() => pool.end());
  await checkEmpty(owner);
  if (files !== null)
    await restoreFiles(store, manifest, files, signal, (done) =>
      onProgress('uploaded files', done, manifest.files.count),
    );
  const keys = manifest.keys === null || passphrase === null ? null : await readKeys(store, manifest.keys, passphrase);
  let ends = endsOf(manifest);
  const hasReadModel = manifest.readModel === readModelSchema && !options.withoutReadModel;
  const failed = new AbortController();
  const unlessFailed = { ...options, signal: AbortSignal.any([signal, failed.signal]) };
  const orFail = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => failed.abort(error));
  const restoringLog = async (): Promise<void> => {
    if (kafka === null) await restoreLog(manifest, unlessFailed, pool, `${logSchema}${staged}`);
    else ends = await completeLog(manifest, unlessFailed, kafka);
  };
  await Promise.all([
    orFail(restoringLog()),
    ...(hasReadModel ? [orFail(restoreReadModel(manifest, unlessFailed))] : []),
  ]);
  failed.signal.throwIfAborted();
  await createNotes(pool);
  await pool.query(createLanguageNotes);
  // Makes the tables of the keys.
  await (await StoredSecretKeys.open(pool)).close();
  await owner.query('begin');
  await owner.query('set local synchronous_commit = on');
  for (const { schema, ...copy } of manifest.notes) {
    await owner.query(`truncate ${schema}."${copy.name}"`);
    await copyIn(owner, schema, copy, store, signal);
  }
  if (keys !== null) await restoreKeys(owner, keys);
  if (hasReadModel) {
    await putInPlace(owner, readModelSchema);
    // A partition may have been halted when the backup was taken. The log is that of the read model now; an event that
    // cannot be projected halts it again.
    await owner.query(`update ${readModelSchema}.progress set halted = null, contradicted = false`);
  }
  if (kafka === null) await putInPlace(owner, logSchema);
  // What was appended after the backup may be lost, and its versions must not be given out again; in Kafka also where a
  // partition has records beyond the set, because it may have lost others behind them. There this is before the commit:
  // a restore that was interrupted between the two resumes once more.
  await goOnBehind(manifest, ends, (partition, bytes) =>
    kafka === null ? appendRecord(owner, partition, bytes) : kafka.appendRecord(partition, bytes),
  );
  await owner.query('commit');
  return hasReadModel;
}

/** Lets all partitions go on with versions that were not given out. */
async function goOnBehind(
  { partitions }: Manifest,
  ends: readonly RestoredEnd[],
  appendRecord: RecordLog['appendRecord'],
): Promise<void> {
  // The set may be older than the first record of a partition, which names the log.
  const logId = partitions.find((copy) => copy.logId !== null)?.logId ?? randomUUID();
  for (const [partition, { offset }] of ends.entries())
    if (offset === 0n) await appendRecord(partition, encodeGenesis(logId));
  await resumeLog(
    { appendRecord },
    ends.map(({ version }) => version),
  );
}

/** Rejects with BackupError if the set names a table that no backup has: a restore writes to no other tables. */
function checkPlaces({ readModel, tables, partitions, notes }: Manifest): void {
  const ofNotes = namesOfNotes();
  for (const { schema, name } of notes) {
    if (!ofNotes.includes(`${schema}.${name}`))
      throw new BackupError(
        `The set names the table ${schema}.${name}, which is no table of notes: nothing is restored.`,
      );
  }
  // One of another shape is not restored.
  if (readModel !== readModelSchema) return;
  const known = new Map(
    readModelTables(entitiesOf(models), readModel).map(({ name, columns }) => [name, columns.join()]),
  );
  for (const { name, columns } of tables) {
    if (known.get(name) !== columns.join())
      throw new BackupError(
        `The set names the table ${name} with other columns than the read model has: nothing is restored.`,
      );
  }
  const named = new Set(tables.map(({ name }) => name));
  for (const { name } of partitions.flatMap((partition) => partition.tables)) {
    if (!named.has(name))
      throw new BackupError(`The set has rows of the table ${name}, which it does not name: nothing is restored.`);
  }
}

async function putInPlace(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`drop schema if exists ${schema} cascade`);
  await client.query(`alter schema ${schema}${staged} rename to ${schema}`);
}

/** Rejects with BackupError unless the database has neither a log nor a read model with anything in it. */
async function checkEmpty(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', nspname, relname) as name from pg_class
    join pg_namespace namespace on namespace.oid = relnamespace
      where (nspname = $1 and relname = 'heads') or (nspname ~ '^tablog_[0-9]+$' and relname = 'progress')`,
    [logSchema],
  );
  for (const { name } of rows) {
    const { rowCount } = await client.query(`select 1 from ${name} where next > 0 limit 1`);
    if (rowCount !== 0)
      throw new BackupError(
        `The database has data of Tablog already (${name}). A backup is restored into an empty one only.`,
      );
  }
}

async function restoreReadModel(manifest: Manifest, { store, url, signal, onProgress }: RestoreOptions): Promise<void> {
  const schema = `${readModelSchema}${staged}`;
  const database: Database = await Database.open({ url, schema, synchronousCommit: false, queryTimeout: 0 });
  try {
    await dropReadModel(database);
    await createReadModel(readTablesSql, database, manifest.partitions.length);
    const { pool } = database;
    await pool.query('delete from progress');
    const indexes = await IndexesAside.take(pool, schema);
    const waiting = [...readModelCopies(manifest)].flatMap((table) =>
      table.streams.map((stream) => ({ ...table, streams: [stream] })),
    );
    const rowsOf = ({ streams }: TableCopy): number => streams.reduce((sum, { rows }) => sum + rows, 0);
    const of = waiting.reduce((sum, table) => sum + rowsOf(table), 0);
    let done = 0;
    await indexes.inParallel(waiting, async (client, copy) => {
      await copyIn(client, schema, copy, store, signal);
      done += rowsOf(copy);
      onProgress('rows of all tables', done, of);
    });
    await indexes.putBack(signal, onProgress);
    await pool.query(`select setval('local_keys', $1::int8)`, [manifest.localKeys]);
    const results = await Promise.allSettled([
      analyze(pool, manifest.tables),
      checkDigests(manifest, { url, signal, onProgress }, schema),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  } finally {
    await database.close();
  }
}

/** Makes statistics, without which the first queries have bad plans. */
async function analyze(pool: pg.Pool, tables: readonly Pick<TableCopy, 'name'>[]): Promise<void> {
  for (const { name } of tables) await pool.query(`analyze "${name}"`);
}

/** Rejects with BackupError unless the read model in this schema is what was backed up. */
async function checkDigests(
  { partitions }: Manifest,
  { url, signal, onProgress }: Pick<RestoreOptions, 'url' | 'signal' | 'onProgress'>,
  schema: string,
): Promise<void> {
  const restored = await digestReadModel(models, {
    url,
    schema,
    signal,
    onRowsRead: (rows) => onProgress('digested rows', rows, null),
  });
  for (const [partition, { digest }] of partitions.entries()) {
    const found = digestOf(restored, partition);
    if (found === digest) continue;
    throw new BackupError(
      `The read model of partition ${partition} has the digest ${found}, not ${digest} as when it was backed up: its rows were damaged, there or here. ` +
        'Nothing is restored. Restore another set, or say --without-read-model to have it built from the log.',
    );
  }
}
