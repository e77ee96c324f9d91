/** Takes a backup of a deployment while it runs (docs/decisions/0039-backups.md). */
import { to as copyTo } from 'pg-copy-streams';
import { digestOf, digestReadModel, digestSnapshot } from '../../projections/engine/compare/digest.ts';
import { entitiesOf } from '../../projections/engine/read-model.ts';
import { models } from '../../projections/models.ts';
import type { Database } from '../database/database.ts';
import type { FileStore } from '../files/file-store.ts';
import type { LogReader } from '../log/event-log.ts';
import type { BackupError, BackupStore, OnProgress } from './backup-store.ts';
import { CopySnapshot } from './copy-out.ts';
import { backupKeys } from './keys.ts';
import { packsOf, readNewestReadableSet, writeManifest, type BackupSet, type Manifest, type PartitionCopy } from './manifest.ts';
import { PackWriter } from './packs.ts';
import { writeRecords } from './record-packs.ts';
import { checkPassphrase } from './sealed-keys.ts';
import { noteTables, readModelTables } from './stored-tables.ts';
import { untilCaughtUp } from './until-caught-up.ts';
import { backupFiles, inFileOrder, listFiles } from './uploaded-files.ts';
import { withStoreLease, type StoreLease } from './store-lease.ts';

export interface BackupOptions {
  readonly store: BackupStore;
  /** Of Postgres. */
  readonly url: string;
  readonly database: Database;
  readonly log: LogReader;
  /** Whether the set holds the records of the log, or only where it ends: then it can be restored only where that log is. */
  readonly withRecords: boolean;
  /** Null: the signing keys are left out. */
  readonly passphrase: Buffer | null;
  /** Null: only the names of the uploaded files are kept. */
  readonly files: Pick<FileStore, 'read'> | null;
  /** Whether everything is stored anew, in the place of what is there: that may be damaged. */
  readonly full: boolean;
  /** Whether the read model may lack events that the log has. */
  readonly behind: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  /** Told of newer sets than the one that this backup goes on from, which cannot be read. */
  readonly onUnreadable: (problem: BackupError) => void;
}

export interface TakenBackup extends BackupSet {
  /** New packs and their bytes. Packs that earlier sets have already are not counted. */
  readonly written: { readonly packs: number; readonly bytes: number };
}

/**
 * Takes a backup. What it has stored when it is interrupted is used by the next one, unless that is a full one. Rejects with BackupError, among others if the read model is behind
 * the log, with the reason of `signal`, and with errors of Postgres, the log and the store.
 */
export async function takeBackup(options: BackupOptions): Promise<TakenBackup> {
  const { store, database, log, passphrase, behind, signal } = options;
  // Before the work.
  if (passphrase !== null) checkPassphrase(passphrase);
  if (!behind) await untilCaughtUp(log, database, signal);
  return withStoreLease(store, 'backup', (lease) => takeUnderLease(options, lease));
}

async function takeUnderLease(
  { store, url, database, log, withRecords, passphrase, files, full, signal, onProgress, onUnreadable }: BackupOptions, lease: StoreLease,
): Promise<TakenBackup> {
  const before = full ? undefined : (await readNewestReadableSet(store, onUnreadable))?.manifest;
  const packs = new PackWriter(store, before === undefined ? [] : packsOf(before), { reuses: !full });
  // In short snapshots, and kept: in the one that is copied only what has changed since is read for its digest.
  await digestReadModel(models, { url, schema: database.schema, signal, onRowsRead: (rows) => onProgress('digested rows', rows, null) });
  const began = performance.now();
  const { progress, fileNames, fileCount, ...copied } = await CopySnapshot.with(url, database.schema, async (snapshot) => {
    const { client } = snapshot;
    const takenAt = Date.now();
    const present = await readProgressOf(snapshot, database.schema);
    const keys = passphrase === null ? null : await backupKeys(client, store, passphrase);
    const noted = await noteTables(client);
    const [copies, digested] = await Promise.allSettled([
      snapshot.copy(readModelTables(entitiesOf(models), database.schema), packs, before?.readModel === database.schema ? before.tables : [], signal, onProgress),
      digestSnapshot(models, snapshot.readModel),
    ]);
    if (copies.status === 'rejected') throw copies.reason;
    if (digested.status === 'rejected') throw digested.reason;
    const tables = copies.value;
    const notes = (await snapshot.copy(noted, packs, [], signal, () => undefined)).map((copy, place) => ({ ...copy, schema: noted[place]!.schema }));
    const copyNames = client.query(copyTo(`copy (${selectFiles(database.schema)}) to stdout`));
    const names = await packs.writeStream(copyNames);
    // After the copies: no key in them is higher.
    const { rows: [sequence] } = await client.query<{ last: string }>(`select last_value as last from ${database.schema}.local_keys`);
    return {
      takenAt, keys, tables, notes, localKeys: sequence!.last, fileNames: names, fileCount: copyNames.rowCount,
      progress: present.map((one, partition) => ({ ...one, digest: digestOf(digested.value, partition) })),
    };
  });
  const snapshotMs = Math.round(performance.now() - began);
  const partitions: Manifest['partitions'] = [];
  const ofRecords = progress.reduce((sum, { next }) => sum + Number(next), 0);
  let records = 0;
  for (const [partition, { next, ...rest }] of progress.entries()) {
    const onWritten = (end: bigint): void => {
      signal.throwIfAborted();
      onProgress('records of the log', records + Number(end), ofRecords);
    };
    signal.throwIfAborted();
    partitions.push({
      next, ...rest, records: withRecords ? await writeRecords(log, packs, partition, BigInt(next), before?.partitions[partition], onWritten) : null,
    });
    records += Number(next);
  }
  const keptFiles = await backupFiles(listFiles(store, fileNames), {
    files, store, packs, reuses: !full, signal, onDone: (done) => onProgress('uploaded files', done, fileCount),
  });
  const manifest: Manifest = { format: 1, snapshotMs, readModel: database.schema, ...copied, partitions, files: keptFiles };
  signal.throwIfAborted();
  lease.check();
  return { id: await writeManifest(store, manifest), manifest, written: packs.written };
}

/** The files that uploads have at present, as `listFiles` reads them. */
function selectFiles(schema: string): string {
  return `select file || ' ' || size from ${schema}.uploads where file is not null and removed_at is null order by ${inFileOrder('file')}`;
}

async function readProgressOf({ client }: CopySnapshot, schema: string): Promise<Omit<PartitionCopy, 'records' | 'digest'>[]> {
  const { rows } = await client.query<Omit<PartitionCopy, 'records' | 'digest'>>(
    `select next, base, log_id as "logId", encode(last_hash, 'hex') as "lastHash" from ${schema}.progress order by partition`,
  );
  return rows;
}
