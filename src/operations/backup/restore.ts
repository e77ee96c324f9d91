/**
 * Restores a set into an empty database. It builds everything in schemas that the service does not use, and one
 * transaction puts them in place. An interrupted restore has to start over.
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
import { checkSignature, readModelCopies, type BackupSet, type Manifest, type TableBackup } from './manifest.ts';
import type { ManifestKey } from './manifest-key.ts';
import { completeLog, endsOfBackup, restoreLog, type RestoredEnd } from './restore-log.ts';
import { namesOfNotes, readModelTables } from './stored-tables.ts';
import { restoreFiles } from './uploaded-files.ts';

interface RestoreOptions {
  readonly store: BackupStore;
  /** The URL of the Postgres to restore into. */
  readonly url: string;
  /**
   * The log in Kafka; records that it lacks are copied to it from the set. Null: the log is in Postgres, and is
   * restored from the set.
   */
  readonly kafka: RecordLog | null;
  /** The store for the uploaded files of the set; null if it has none. */
  readonly files: LocalFileStore | null;
  /** The key that must have signed the set; null: no signature is checked. */
  readonly manifestKey: ManifestKey | null;
  /** Decrypts the signing keys. Null: they are not restored. */
  readonly passphrase: Buffer | null;
  /** Whether to leave out the read model even if the set has one of this shape. */
  readonly withoutReadModel: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

const staged = '_restored';

/**
 * Restores the uploaded files, the read model, the log, the notes and the keys. Resolves to whether the read model was
 * restored. It is not if this version has another shape, or with `withoutReadModel`; then the service has to build it
 * from the log. Rejects with BackupError (for example if the set is not signed with the key), with ReadModelInUse, with
 * WrongLog, and with the reason of `signal`.
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
  // If the connection breaks, the query that runs on it fails, or the next one does.
  owner.on('error', () => undefined);
  resources.defer(() => owner.end());
  await owner.connect();
  // Held until the connection ends. Every process that uses a read model shares this lock.
  const { rows } = await owner.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    advisoryLocks.useReadModel,
  ]);
  if (!rows[0]!.taken)
    throw new ReadModelInUse(
      'another process uses this database: stop all processes that use it, and restore into an empty database',
    );
  const pool = new pg.Pool({
    connectionString: url,
    max: 3,
    application_name: 'tablog restore',
    connectionTimeoutMillis: 5000,
  });
  // The pool replaces an idle connection that breaks.
  pool.on('error', () => undefined);
  resources.defer(() => pool.end());
  await checkEmpty(owner);
  if (files !== null)
    await restoreFiles(store, manifest, files, signal, (done) =>
      onProgress('uploaded files', done, manifest.files.count),
    );
  const keys = manifest.keys === null || passphrase === null ? null : await readKeys(store, manifest.keys, passphrase);
  let ends = endsOfBackup(manifest);
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
  // Opening the keys creates their tables.
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
    // A partition may have been halted when the backup was taken. End the halt, because the restored log fits the read
    // model. An event that cannot be projected halts the partition again.
    await owner.query(`update ${readModelSchema}.progress set halted = null, contradicted = false`);
  }
  if (kafka === null) await putInPlace(owner, logSchema);
  // Events appended after the backup may be lost, and their versions must not be given out again. With Kafka this also
  // holds for partitions that have records beyond the set, because they may have lost later ones. Appending to Kafka
  // precedes the commit: if the restore is interrupted in between, the next one resumes the log once more.
  await goOnBehind(manifest, ends, (partition, bytes) =>
    kafka === null ? appendRecord(owner, partition, bytes) : kafka.appendRecord(partition, bytes),
  );
  await owner.query('commit');
  return hasReadModel;
}

/** Makes all partitions continue with versions that were never given out. */
async function goOnBehind(
  { partitions }: Manifest,
  ends: readonly RestoredEnd[],
  appendRecord: RecordLog['appendRecord'],
): Promise<void> {
  // The set may have been taken before some partition got its first record, which names the log.
  const logId = partitions.find((copy) => copy.logId !== null)?.logId ?? randomUUID();
  for (const [partition, { offset }] of ends.entries())
    if (offset === 0n) await appendRecord(partition, encodeGenesis(logId));
  await resumeLog(
    { appendRecord },
    ends.map(({ version }) => version),
  );
}

/**
 * Throws BackupError if the set names a table that no backup contains, because a restore must not write to other
 * tables.
 */
function checkPlaces({ readModel, tables, partitions, notes }: Manifest): void {
  const ofNotes = namesOfNotes();
  for (const { schema, name } of notes) {
    if (!ofNotes.includes(`${schema}.${name}`))
      throw new BackupError(
        `The set names the table ${schema}.${name}, which is not a table of notes. Nothing is restored.`,
      );
  }
  // A read model of another shape is not restored, so its tables need no check.
  if (readModel !== readModelSchema) return;
  const known = new Map(
    readModelTables(entitiesOf(models), readModel).map(({ name, columns }) => [name, columns.join()]),
  );
  for (const { name, columns } of tables) {
    if (known.get(name) !== columns.join())
      throw new BackupError(
        `The columns of the table ${name} in the set differ from the read model's. Nothing is restored.`,
      );
  }
  const named = new Set(tables.map(({ name }) => name));
  for (const { name } of partitions.flatMap((partition) => partition.tables)) {
    if (!named.has(name))
      throw new BackupError(`The set has rows of the table ${name} but does not name that table. Nothing is restored.`);
  }
}

async function putInPlace(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`drop schema if exists ${schema} cascade`);
  await client.query(`alter schema ${schema}${staged} rename to ${schema}`);
}

/** Rejects with BackupError if the database has a log or a read model with events. */
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
      throw new BackupError(`The database has data of Tablog already (${name}). Restore into an empty database.`);
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
    const rowsOf = ({ streams }: TableBackup): number => streams.reduce((sum, { rows }) => sum + rows, 0);
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

/** Collects statistics, without which the first queries would have bad plans. */
async function analyze(pool: pg.Pool, tables: readonly Pick<TableBackup, 'name'>[]): Promise<void> {
  for (const { name } of tables) await pool.query(`analyze "${name}"`);
}

/** Rejects with BackupError if the digests of the read model in this schema differ from the set's. */
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
      `The restored read model of partition ${partition} has the digest ${found} instead of ${digest}: its rows were damaged in the backup or by the restore. ` +
        'Nothing is restored. Restore another set, or add --without-read-model to build the read model from the log.',
    );
  }
}
