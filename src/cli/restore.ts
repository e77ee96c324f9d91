/** `tablog restore`: restores a backup into an empty database (docs/operate/backups.md). */
import { Pool } from 'pg';
import type { Command } from 'commander';
import { readConfig, type Config } from '../app/config.ts';
import { auditedCommand } from './audited.ts';
import type { BackupSet } from '../operations/backup/manifest.ts';
import { findSet, readPassphrase, withStore } from './backup.ts';
import { newLogger, writeOut, writeWords } from './console.ts';
import { interruption } from './interruption.ts';
import { progressByKind, ProgressLine } from './progress-line.ts';
import { UserError } from './user-error.ts';

interface Flags {
  readonly keyFile?: string;
  readonly withoutKeys?: boolean;
  readonly unsigned?: boolean;
  readonly withoutReadModel?: boolean;
  readonly set?: string;
  readonly json?: boolean;
}

export function addRestoreCommand(program: Command): void {
  program
    .command('restore')
    .description('restore a backup into an empty database; then start the service')
    .argument('<from>', 'the folder of the backups, or s3://bucket/prefix')
    .option('--set <id>', 'the ID of the set; default: the newest')
    .option('--key-file <file>', 'a file with the passphrase that signed the set')
    .option('--unsigned', 'restore a set without checking its signature: only if nobody else can write to the backups')
    .option('--without-keys', 'create new signing keys: signatures of the former keys are refused')
    .option('--without-read-model', 'build the read model from the log instead of restoring it, which takes longer')
    .option('--json', 'write the result as JSON')
    .action(runRestore);
}

async function runRestore(from: string, flags: Flags): Promise<void> {
  const signal = interruption();
  const config = readConfig();
  const logger = newLogger();
  const [{ restore }, { ManifestKey }, { countsOf }, { openLocalFiles }, { openCopyTarget }, { openPostgres }] =
    await Promise.all([
      import('../operations/backup/restore.ts'),
      import('../operations/backup/manifest-key.ts'),
      import('../operations/backup/manifest.ts'),
      import('../operations/backup/uploaded-files.ts'),
      import('../app/open-log.ts'),
      import('../app/open-postgres.ts'),
    ]);
  const began = performance.now();
  const set = await auditedCommand('backup.restore', { from }, (details) =>
    withStore(from, { make: false }, async (store) => {
      const found = await findSet(store, flags.set);
      details['set'] = found.id;
      const { manifest } = found;
      const passphrase = await readPassphrase(flags.keyFile);
      if (passphrase === null) expectNoPassphrase(found, flags);
      details['unsigned'] = flags.unsigned === true;
      await using resources = new AsyncDisposableStack();
      const postgres = await openPostgres(config, logger);
      resources.defer(() => postgres.close());
      const kafka =
        config.KAFKA_BROKERS === undefined
          ? null
          : resources.adopt(await openCopyTarget(config, postgres.url, logger), (log) => log.close());
      const pool = resources.adopt(
        new Pool({ connectionString: postgres.url, max: 1, application_name: 'tablog restore' }),
        (used) => used.end(),
      );
      const files = manifest.files.kept ? resources.use(await openLocalFiles(config, pool)) : null;
      if (manifest.files.kept && files === null) {
        throw new UserError(
          'The set has uploaded files that were in a folder: set FILES_DIR instead of FILES_S3_BUCKET.',
        );
      }
      const hasReadModel = await restore(found, {
        store,
        url: postgres.url,
        kafka,
        files: files?.store ?? null,
        manifestKey: flags.unsigned === true ? null : new ManifestKey(passphrase!),
        passphrase: flags.withoutKeys === true ? null : passphrase,
        withoutReadModel: flags.withoutReadModel === true,
        signal,
        onProgress: progressByKind(writeWords),
      });
      if (!hasReadModel) await buildReadModel(config, postgres.url, signal);
      return found;
    }),
  );
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  const { events, rows, packs, files } = countsOf(set.manifest);
  if (flags.json) return writeOut(JSON.stringify({ set: set.id, events, rows, packs, files, seconds }));
  writeOut(
    `Set ${set.id} was restored in ${seconds} s. Start the service. \`tablog verify\` checks the restored tables against the log.`,
  );
  if (!set.manifest.files.kept && set.manifest.files.count > 0)
    writeWords(`Its ${set.manifest.files.count} uploaded files are not in the backup.`);
}

/** Throws UserError if the set cannot be restored without a passphrase. */
function expectNoPassphrase({ id, signature, manifest }: BackupSet, { unsigned, withoutKeys }: Flags): void {
  if (unsigned !== true) {
    throw new UserError(
      signature === null
        ? `Set ${id} is not signed: anybody who can write to the backups may have made it. If nobody else can, restore it with --unsigned.`
        : 'Give --key-file <file> with the passphrase that signed the set, or --unsigned to restore it without checking its signature.',
    );
  }
  if (manifest.keys !== null && withoutKeys !== true) {
    throw new UserError(
      'Give --key-file <file> with the passphrase of the signing keys, or --without-keys to leave them out.',
    );
  }
}

/** Builds the read model from the log: it was left out, or the set has the shape of another version. */
async function buildReadModel(config: Config, url: string, signal: AbortSignal): Promise<void> {
  const [{ replay }, { openRecordLog }] = await Promise.all([
    import('../operations/replay/replay.ts'),
    import('../app/open-log.ts'),
  ]);
  const log = await openRecordLog(config, url, newLogger());
  try {
    const progress = new ProgressLine('events', writeWords);
    await replay({ url, log, batchEvents: 500, signal, onProgress: (done, of) => progress.update(done, of) });
  } finally {
    await log.close();
  }
}
