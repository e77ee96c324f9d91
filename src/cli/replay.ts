/** `tablog replay` and `tablog verify`. */
import type { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import { describeDifference } from '../log/compare/differences.ts';
import type { ReplayOptions } from '../operations/replay/replay.ts';
import { auditedCommand } from './audited.ts';
import { newLogger, wholeNumber, writeOut, writeWords } from './console.ts';
import { interruption } from './interruption.ts';
import { ProgressLine } from './progress-line.ts';

const batchEventsDefault = 500;

interface ReplayFlags {
  readonly batchEvents: number;
  readonly json?: boolean;
  readonly fromStart?: boolean;
  readonly byDigest?: boolean;
}

type Work = Pick<ReplayOptions, 'url' | 'log' | 'batchEvents' | 'onProgress' | 'signal'>;

export function addReplayCommands(program: Command): void {
  const command = (name: string): Command => {
    return program
      .command(name)
      .option('--batch-events <n>', 'how many events to project in one batch', wholeNumber(1), batchEventsDefault)
      .option('--json', 'write the result as JSON');
  };
  command('replay')
    .description('rebuild the read model from the log and replace the present one; resumes an interrupted replay')
    .option('--from-start', 'start over instead of resuming an interrupted replay')
    .action(runReplay);
  command('verify')
    .description('check the read model against the log; if they differ, shows the differences and exits with 1')
    .option(
      '--by-digest',
      'compare digests with a rebuilt read model that is kept between runs: reads only rows that changed since the last run, ' +
        'so it does not find damage to older rows; the kept read model takes disk space until `verify` runs without this option',
    )
    .action(runVerify);
}

async function runReplay(flags: ReplayFlags): Promise<void> {
  const started = performance.now();
  // Imported on demand, so that other commands start faster.
  const { replay } = await import('../operations/replay/replay.ts');
  const { events, shortened } = await auditedCommand('readmodel.replay', {}, () =>
    withPostgres(flags, (work) => replay({ ...work, fromStart: flags.fromStart ?? false })),
  );
  if (flags.json) writeOut(JSON.stringify({ events, shortened, ...seconds(started) }));
  else {
    writeOut(`The read model was rebuilt from ${events} events in ${seconds(started).seconds} s.`);
    if (shortened.length > 0) {
      writeOut(
        `Partition ${shortened.join(', ')} of the log lacks events that had been projected: their changes are gone. ` +
          'The log was resumed, so that no version is given out twice.',
      );
    }
  }
}

async function runVerify(flags: ReplayFlags): Promise<void> {
  const started = performance.now();
  const { verify } = await import('../operations/replay/verify.ts');
  const { differences, events, counts, byDigest } = await withPostgres(flags, (work) =>
    verify({ ...work, byDigest: flags.byDigest ?? false }),
  );
  const equal = differences.length === 0;
  if (!equal) process.exitCode = 1;
  if (flags.json) {
    writeOut(JSON.stringify({ equal, events, ...counts, ...byDigest, ...seconds(started), differences }));
  } else if (equal && byDigest !== undefined) {
    writeOut(
      `By their digests, ${byDigest.partitions} partitions of the read model match the log: ${byDigest.newEvents} new events of ${events}, ` +
        `${byDigest.rowsRead} rows read, ${seconds(started).seconds} s.`,
    );
  } else if (equal) {
    const compared = Object.entries({ events, ...counts }).map(
      ([plural, count]) => `${count} ${count === 1 ? plural.slice(0, -1) : plural}`,
    );
    writeOut(`The read model matches the log: ${compared.join(', ')}, ${seconds(started).seconds} s.`);
  } else {
    writeOut('The read model does not match the log. The first differences:');
    for (const difference of differences) writeOut(describeDifference(difference));
  }
}

/** Opens Postgres and the log while `work` runs. SIGINT and SIGTERM interrupt it. */
async function withPostgres<T>(flags: ReplayFlags, work: (work: Work) => Promise<T>): Promise<T> {
  const signal = interruption();
  const progress = new ProgressLine('events', writeWords);
  const [{ openPostgres }, { openRecordLog }] = await Promise.all([
    import('../app/open-postgres.ts'),
    import('../app/open-log.ts'),
  ]);
  const config = readConfig();
  const logger = newLogger();
  await using resources = new AsyncDisposableStack();
  const postgres = await openPostgres(config, logger);
  resources.defer(() => postgres.close());
  const log = await openRecordLog(config, postgres.url, logger);
  resources.defer(() => log.close());
  signal.throwIfAborted();
  return await work({
    url: postgres.url,
    log,
    batchEvents: flags.batchEvents,
    signal,
    onProgress: (done, of) => progress.update(done, of),
  });
}

function seconds(started: number): { readonly seconds: number } {
  return { seconds: Math.round((performance.now() - started) / 100) / 10 };
}
