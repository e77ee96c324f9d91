/** Takes a backup of a deployment while it runs (docs/decisions/0039-backups.md). */
import { to as copyTo } from 'pg-copy-streams';
import { digestPartition, digestReadModel } from '../../log/compare/digest.ts';
import { entitiesOf } from '../../log/read-model.ts';
import { models } from '../../../projections/models.ts';
import type { Database } from '../../storage/database/database.ts';
import type { FileStore } from '../../storage/files/file-store.ts';
import type { LogReader } from '../../log/event-log.ts';
import type { BackupError, BackupStore, OnProgress } from './backup-store.ts';
import { CopyConnections, type CopySnapshot } from './copy-out.ts';
import { backupKeys } from './keys.ts';
import { packsOf, readNewestUsableSet, writeManifest, type Manifest, type PartitionBackup } from './manifest.ts';
import { ManifestKey } from './manifest-key.ts';
import { PackWriter } from './packs.ts';
import { writeRecords } from './record-packs.ts';
import { sharesOfPartitions } from './rows-of-partition.ts';
import { checkPassphrase } from './sealed-keys.ts';
import { noteTables, readModelTables } from './stored-tables.ts';
import { untilCaughtUp } from './until-caught-up.ts';
import { backupFiles, inFileOrder, listFiles } from './uploaded-files.ts';
import { withStoreLease, type StoreLease } from './store-lease.ts';

interface BackupOptions {
  readonly store: BackupStore;
  /** The URL of Postgres. */
  readonly url: string;
  readonly database: Database;
  readonly log: LogReader;
  /**
   * Whether the set contains the records of the log. If not, it has only the ends of the partitions, and can be
   * restored only together with that log.
   */
  readonly withRecords: boolean;
  /** Signs the manifest and encrypts the signing keys of the service. Null: the set is not signed and has no keys. */
  readonly passphrase: Buffer | null;
  /** Whether to include the signing keys, if there is a passphrase. */
  readonly withKeys: boolean;
  /** The store of uploaded files. Null: the set has only their names. */
  readonly files: Pick<FileStore, 'read'> | null;
  /** Whether to store everything anew, because objects in the store may be damaged. */
  readonly full: boolean;
  /** Whether to take the backup even if the read model lacks events of the log. */
  readonly behind: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  /**
   * Called for each set that this backup cannot build on, newest first, because it cannot be read or is not signed with
   * the passphrase.
   */
  readonly onUnusable: (problem: BackupError) => void;
}

export interface TakenBackup {
  readonly id: string;
  readonly manifest: Manifest;
  readonly isSigned: boolean;
  /** New packs and their bytes. Packs that the store had already do not count. */
  readonly written: { readonly packs: number; readonly bytes: number };
}

/**
 * Takes a backup. If it is interrupted, the next backup reuses the objects that it stored, unless that is a full one.
 * Rejects with BackupError (for example if the read model is behind the log), with the reason of `signal`, and with
 * errors of Postgres, the log and the store.
 */
export async function takeBackup(options: BackupOptions): Promise<TakenBackup> {
  const { store, database, log, passphrase, behind, signal } = options;
  // Check first, before any work.
  if (passphrase !== null) checkPassphrase(passphrase);
  if (!behind) await untilCaughtUp(log, database, signal);
  return withStoreLease(store, 'backup', (lease) => takeUnderLease(options, lease));
}

async function takeUnderLease(options: BackupOptions, lease: StoreLease): Promise<TakenBackup> {
  const { store, url, database, log, withRecords, passphrase, files, full, signal, onProgress, onUnusable } = options;
  const key = passphrase === null ? null : new ManifestKey(passphrase);
  const before = full ? undefined : (await readNewestUsableSet(store, key, onUnusable))?.manifest;
  const packs = new PackWriter(store, before === undefined ? [] : packsOf(before), { reuses: !full });
  // Compute and store the digests in short snapshots, so that the snapshots for copying digest only rows that have
  // changed since.
  await digestReadModel(models, {
    url,
    schema: database.schema,
    signal,
    onRowsRead: (rows) => onProgress('digested rows', rows, null),
  });
  const { copied, fileNames, fileCount, ...rest } = await CopyConnections.with(url, database.schema, (connections) =>
    copyReadModel(connections, options, packs, before),
  );
  const partitions: Manifest['partitions'] = [];
  const ofRecords = copied.reduce((sum, { next }) => sum + Number(next), 0);
  let records = 0;
  for (const [partition, { next, ...one }] of copied.entries()) {
    const onWritten = (end: bigint): void => {
      signal.throwIfAborted();
      onProgress('records of the log', records + Number(end), ofRecords);
    };
    signal.throwIfAborted();
    partitions.push({
      next,
      ...one,
      records: withRecords
        ? await writeRecords(log, packs, partition, BigInt(next), before?.partitions[partition], onWritten)
        : null,
    });
    records += Number(next);
  }
  const keptFiles = await backupFiles(listFiles(store, fileNames), {
    files,
    store,
    packs,
    reuses: !full,
    signal,
    onDone: (done) => onProgress('uploaded files', done, fileCount),
  });
  const manifest: Manifest = { format: 2, readModel: database.schema, ...rest, partitions, files: keptFiles };
  signal.throwIfAborted();
  lease.check();
  return { id: await writeManifest(store, manifest, key), manifest, isSigned: key !== null, written: packs.written };
}

type CopiedPartition = Omit<PartitionBackup, 'records'>;

/**
 * Copies the read model, each partition from its own snapshot. So no snapshot is open while all rows are read, and each
 * partition is copied at one offset. A restore continues each partition from its offset.
 *
 * Notes and keys are copied first. A revocation of a token stays in the notes until the log has it, so a set has it in
 * at least one of the two. Names of files are copied last, so the set names every file of the copied uploads that was
 * not removed meanwhile.
 */
async function copyReadModel(
  connections: CopyConnections,
  { store, database: { schema }, log, passphrase, withKeys, signal, onProgress }: BackupOptions,
  packs: PackWriter,
  before: Manifest | undefined,
): Promise<
  Pick<Manifest, 'takenAt' | 'snapshotMs' | 'tables' | 'notes' | 'keys' | 'localKeys'> & {
    readonly copied: CopiedPartition[];
    readonly fileNames: string[];
    readonly fileCount: number;
  }
> {
  let snapshotMs = 0;
  const inSnapshot = async <T>(use: (snapshot: CopySnapshot) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const began = performance.now();
    try {
      return await connections.withSnapshot(use);
    } finally {
      snapshotMs = Math.max(snapshotMs, Math.round(performance.now() - began));
    }
  };
  const takenAt = Date.now();
  const tables = readModelTables(entitiesOf(models), schema);
  const { keys, notes, shares } = await inSnapshot(async (snapshot) => ({
    keys: passphrase === null || !withKeys ? null : await backupKeys(snapshot.client, store, passphrase),
    notes: await snapshot.copyWhole(await noteTables(snapshot.client), packs),
    shares: (await snapshot.client.query<{ partition: number; share: number }>(sharesOfPartitions)).rows,
  }));
  const former = before?.readModel === schema ? before.partitions : [];
  let pieces = 0;
  const copied: CopiedPartition[] = [];
  for (let partition = 0; partition < log.partitions; partition += 1) {
    copied.push(
      await inSnapshot(async (snapshot) => {
        const progress = await readProgressOf(snapshot, partition);
        const [copies, digest] = await Promise.allSettled([
          snapshot.copyPartition(tables, {
            partition,
            share: shares.find((one) => one.partition === partition)?.share ?? 0,
            before: former[partition]?.tables ?? [],
            packs,
            signal,
            onPiece: () => {
              pieces += 1;
              onProgress('pieces of tables', pieces, null);
            },
          }),
          digestPartition(models, snapshot.readModel, partition),
        ]);
        if (copies.status === 'rejected') throw copies.reason;
        if (digest.status === 'rejected') throw digest.reason;
        return { ...progress, digest: digest.value, tables: copies.value };
      }),
    );
  }
  const named = await inSnapshot(async ({ client }) => {
    const copyNames = client.query(copyTo(`copy (${selectFiles}) to stdout`));
    const fileNames = await packs.writeStream(copyNames);
    // Read the sequence after the copies, so that no key in them is higher.
    const {
      rows: [sequence],
    } = await client.query<{ last: string }>('select last_value as last from local_keys');
    return { fileNames, fileCount: copyNames.rowCount, localKeys: sequence!.last };
  });
  return {
    takenAt,
    snapshotMs,
    keys,
    tables: tables.map(({ name, columns }) => ({ name, columns: [...columns] })),
    notes,
    copied,
    ...named,
  };
}

/** Selects the present files of uploads, as lines for `listFiles`. */
const selectFiles = `select file || ' ' || size from uploads where file is not null and removed_at is null order by ${inFileOrder('file')}`;

async function readProgressOf(
  { client }: CopySnapshot,
  partition: number,
): Promise<Pick<PartitionBackup, 'next' | 'base' | 'logId' | 'lastHash'>> {
  const {
    rows: [progress],
  } = await client.query<Pick<PartitionBackup, 'next' | 'base' | 'logId' | 'lastHash'>>(
    `select next, base, log_id as "logId", encode(last_hash, 'hex') as "lastHash" from progress where partition = $1`,
    [partition],
  );
  return progress!;
}
