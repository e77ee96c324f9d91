/** `tablog digest`: digests of the read model, to compare it with the read model of another instance. */
import type { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import { newLogger, writeOut, writeTable, writeWords } from './console.ts';
import { interruption } from './interruption.ts';
import { ProgressLine } from './progress-line.ts';

interface DigestFlags {
  readonly json?: boolean;
}

export function addDigestCommand(program: Command): void {
  program
    .command('digest')
    .description(
      'show a digest of each partition of the read model: equal digests at the same offset mean equal contents',
    )
    .option('--json', 'write the result as JSON, with a digest for each part of a partition')
    .action(runDigest);
}

async function runDigest(flags: DigestFlags): Promise<void> {
  const signal = interruption();
  // Imported here, so that other commands start faster.
  const [{ openPostgres }, { digestReadModel }, { models, readModelSchema }, { ReadModelUse }] = await Promise.all([
    import('../app/open-postgres.ts'),
    import('../log/compare/digest.ts'),
    import('../../projections/models.ts'),
    import('../log/read-model-use.ts'),
  ]);
  await using resources = new AsyncDisposableStack();
  const postgres = await openPostgres(readConfig(), newLogger());
  resources.defer(() => postgres.close());
  const use = await ReadModelUse.share(postgres.url, readModelSchema);
  resources.defer(() => use.end());
  const progress = new ProgressLine('rows', writeWords);
  const { partitions, rowsRead } = await digestReadModel(models, {
    url: postgres.url,
    schema: readModelSchema,
    signal,
    onRowsRead: (rows) => progress.update(rows, null),
  });
  if (flags.json) {
    const asJson = partitions.map(({ next, ...partition }) => ({ ...partition, next: String(next) }));
    writeOut(JSON.stringify({ partitions: asJson, rowsRead }));
    return;
  }
  await writeTable(
    ['PARTITION', 'OFFSET', 'DIGEST'],
    partitions.map(({ partition, next, digest }) => [String(partition), String(next), digest]),
  );
}
