/** `tablog backup`: takes, lists, verifies and removes backups (docs/operate/backups.md). */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import { BackupError, type BackupStore } from '../operations/backup/backup-store.ts';
import type { BackupSet } from '../operations/backup/manifest.ts';
import type { TakenBackup } from '../operations/backup/take-backup.ts';
import { auditedCommand } from './audited.ts';
import { withRequiredOption, wholeNumber, writeOut, writeTable, writeWords } from './console.ts';
import { interruption } from './interruption.ts';
import { progressByKind } from './progress-line.ts';
import { UserError } from './user-error.ts';
import { withRecordLog } from './with-record-log.ts';

interface Flags {
  readonly json?: boolean;
}

interface TakeFlags extends Flags {
  readonly keyFile?: string;
  readonly withoutKeys?: boolean;
  readonly files: boolean;
  readonly log: boolean;
  readonly full?: boolean;
  readonly behind?: boolean;
}

export function addBackupCommands(program: Command): void {
  const backup = program
    .command('backup')
    .description('take a backup of a running service; list, verify and remove backups')
    .argument('<to>', 'the folder of the backups, which is created if it is missing, or s3://bucket/prefix')
    .option(
      '--key-file <file>',
      'a file with the passphrase that signs the set and encrypts the signing keys of the service',
    )
    .option(
      '--without-keys',
      'leave out the signing keys: after a restore, existing job IDs and upload URLs are refused; without --key-file the set is not signed either',
    )
    .option('--no-files', 'keep only the names of uploaded files, not their bytes; always so if the files are in S3')
    .option('--no-log', 'keep only the ends of a log in Kafka, not its records: a restore then needs that log in Kafka')
    .option('--full', 'store everything anew, for example after `backup verify` found damage')
    .option(
      '--behind',
      'take the backup even if the read model lacks events of the log, for example because a partition has halted',
    )
    .option('--json', 'write the result as JSON')
    .action(take);
  const command = (name: string, description: string): Command => {
    return backup
      .command(name)
      .description(description)
      .argument('<from>', 'the folder of the backups, or s3://bucket/prefix')
      .option('--json', 'write the result as JSON');
  };
  command('list', 'list the sets, oldest first').action(list);
  command(
    'verify',
    'read all parts of a set and check that they are undamaged; exits with 1 if one is damaged or missing',
  )
    .argument('[set]', 'the ID of the set; default: the newest')
    .option(
      '--key-file <file>',
      'a file with the passphrase, to check the signature of the set and decrypt the signing keys',
    )
    .action(verify);
  withRequiredOption(
    command('remove', 'remove old sets, and the parts that no other set uses'),
    '--keep <n>',
    'how many of the newest sets to keep',
  ).action((from: string, flags: Flags & { readonly keep: string }) => remove(from, wholeNumber(1)(flags.keep), flags));
}

async function take(to: string, flags: TakeFlags): Promise<void> {
  const withKeys = flags.withoutKeys !== true;
  if (flags.keyFile === undefined && withKeys) {
    throw new UserError(
      'Give --key-file <file>: its passphrase signs the set and encrypts the signing keys. Or give --without-keys for a set without signature and keys.',
    );
  }
  const passphrase = await readPassphrase(flags.keyFile);
  const signal = interruption();
  const config = readConfig();
  if (!flags.log && config.KAFKA_BROKERS === undefined)
    throw new UserError(
      '--no-log: the log is in Postgres, so only the backup would have its records. Leave out --no-log.',
    );
  const [{ takeBackup }, { openLocalFiles }] = await Promise.all([
    import('../operations/backup/take-backup.ts'),
    import('../operations/backup/uploaded-files.ts'),
  ]);
  const taken = await auditedCommand('backup.take', { to }, (details) =>
    withStore(to, { make: true }, (store) =>
      withRecordLog(async (log, { url, database }) => {
        await using files = flags.files ? await openLocalFiles(config, database.pool) : null;
        const set = await takeBackup({
          store,
          url,
          database,
          log,
          withRecords: flags.log,
          passphrase,
          withKeys,
          files: files?.store ?? null,
          full: flags.full === true,
          behind: flags.behind === true,
          signal,
          onProgress: progressByKind(writeWords),
          onUnusable: ({ message }) => writeWords(`${message} This backup does not build on it.`),
        });
        details['set'] = set.id;
        return set;
      }),
    ),
  );
  const summary = await summaryOf(taken);
  if (flags.json) return writeOut(JSON.stringify({ ...summary, stored: taken.written }));
  const { packs, bytes } = taken.written;
  writeOut(taken.id);
  writeWords(
    `The backup is complete: ${packs} of its ${summary.packs} packs are new, with ${bytes} bytes. The longest snapshot was open for ${taken.manifest.snapshotMs} ms.`,
  );
  if (!taken.isSigned) writeWords('It is not signed: `tablog restore` accepts it only with --unsigned.');
}

async function list(from: string, flags: Flags): Promise<void> {
  const { listSets, readSet } = await import('../operations/backup/manifest.ts');
  await withStore(from, { make: false }, async (store) => {
    const sets: Summary[] = [];
    const unreadable: { readonly id: string; readonly problem: string }[] = [];
    for (const id of await listSets(store)) {
      try {
        const set = await readSet(store, id);
        sets.push(await summaryOf({ ...set, isSigned: set.signature !== null }));
      } catch (error) {
        if (!(error instanceof BackupError)) throw error;
        unreadable.push({ id, problem: error.message });
      }
    }
    for (const { problem } of unreadable) writeWords(problem);
    if (flags.json)
      return writeOut(JSON.stringify([...sets, ...unreadable].toSorted((a, b) => (a.id < b.id ? -1 : 1))));
    await writeTable(
      ['SET', 'TAKEN AT', 'READ MODEL', 'EVENTS', 'ROWS', 'PACKS', 'LOG', 'SIGNED', 'KEYS', 'FILES'],
      sets.map((set) => [
        set.id,
        set.takenAt,
        set.readModel,
        String(set.events),
        String(set.rows),
        String(set.packs),
        set.withLog ? 'records' : 'its end',
        set.signed ? 'yes' : 'no',
        set.withKeys ? 'yes' : 'no',
        `${set.files}${set.withFiles ? '' : ' names'}`,
      ]),
    );
  });
}

async function verify(
  from: string,
  id: string | undefined,
  flags: Flags & { readonly keyFile?: string },
): Promise<void> {
  const passphrase = await readPassphrase(flags.keyFile);
  const signal = interruption();
  const { verifyBackup } = await import('../operations/backup/verify-backup.ts');
  const { set, verified } = await withStore(from, { make: false }, async (store) => {
    const found = await findSet(store, id);
    return { set: found, verified: await verifyBackup(found, store, passphrase, signal, progressByKind(writeWords)) };
  });
  const { problems, events, rows, packs, files } = verified;
  if (problems.length > 0) process.exitCode = 1;
  if (flags.json) return writeOut(JSON.stringify({ set: set.id, ...verified }));
  if (problems.length === 0)
    writeOut(`Set ${set.id} is undamaged: ${events} events, ${rows} rows, ${packs} packs, ${files} files.`);
  else writeOut(`Set ${set.id} cannot be restored:\n${problems.join('\n')}`);
}

async function remove(from: string, keep: number, flags: Flags): Promise<void> {
  const signal = interruption();
  const { removeSets } = await import('../operations/backup/remove-sets.ts');
  const removed = await auditedCommand('backup.remove', { from, keep }, () =>
    withStore(from, { make: false }, (store) => removeSets(store, keep, signal)),
  );
  if (flags.json) return writeOut(JSON.stringify(removed));
  writeWords(
    `Removed ${removed.sets.length} sets, and ${removed.objects} packs, files and keys that no set uses. Unused ones younger than a day stay until the next removal.`,
  );
}

/** Opens the store of backups while `work` runs. */
export async function withStore<T>(
  place: string,
  options: { readonly make: boolean },
  work: (store: BackupStore) => Promise<T>,
): Promise<T> {
  const { openBackupStore } = await import('../operations/backup/open-store.ts');
  const store = await openBackupStore(place, readConfig(), options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The set of this ID, or the newest. Rejects with UserError if there is none. */
export async function findSet(store: BackupStore, id: string | undefined): Promise<BackupSet> {
  const { readNewestSet, readSet } = await import('../operations/backup/manifest.ts');
  const found = id === undefined ? await readNewestSet(store) : await readSet(store, id);
  if (found === null) throw new UserError('There is no complete backup.');
  return found;
}

/** The passphrase in this file; null if there is no file. Rejects with UserError. */
export async function readPassphrase(keyFile: string | undefined): Promise<Buffer | null> {
  if (keyFile === undefined) return null;
  const content = await readFile(keyFile, 'utf8').catch((error: Error) => {
    throw new UserError(`The file of the passphrase cannot be read: ${error.message}`);
  });
  return Buffer.from(content.replace(/\r?\n$/, ''));
}

/** A set as the commands show it. `signed` means that there is a signature, not that it is valid. */
async function summaryOf({ id, manifest, isSigned }: Pick<TakenBackup, 'id' | 'manifest' | 'isSigned'>) {
  const { countsOf } = await import('../operations/backup/manifest.ts');
  const { takenAt, snapshotMs, readModel, partitions, files, keys } = manifest;
  return {
    id,
    takenAt: new Date(takenAt).toISOString(),
    snapshotMs,
    readModel,
    ...countsOf(manifest),
    withLog: partitions.every(({ records }) => records !== null),
    signed: isSigned,
    withKeys: keys !== null,
    withFiles: files.kept,
  };
}

type Summary = Awaited<ReturnType<typeof summaryOf>>;
