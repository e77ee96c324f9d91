/** `tablog replay` and `tablog verify`. */
import type { Command } from 'commander';
import { readConfig } from '../app/config.ts';
import { describeDifference } from '../log/compare/differences.ts';
import type { ReplayOptions } from '../operations/replay/replay.ts';
import { audited } from './audited.ts';
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
      .option('--batch-events <n>', 'how many events are projected at once', wholeNumber(1), batchEventsDefault)
      .option('--json', 'write the result as JSON');
  };
  command('replay')
    .description(
      'build the read model anew from the log, and put it in the place of the one that is there; goes on where it was interrupted',
    )
    .option('--from-start', 'do not go on with what an interrupted replay has built')
    .action(runReplay);
  command('verify')
    .description('prove that the read model is what the log says; exits with 1, and says what differs, if it is not')
    .option(
      '--by-digest',
      'go on with the rebuild that the last `verify --by-digest` kept, compare digests, and keep it: reads what has changed since, ' +
        'so it does not see damage to what has not; takes the room of a second read model, until `verify` without this is run',
    )
    .action(runVerify);
}

async function runReplay(flags: ReplayFlags): Promise<void> {
  const started = performance.now();
  // Imported here, so that other commands start faster.
  const { replay } = await import('../operations/replay/replay.ts');
  const { events, shortened } = await audited('readmodel.replay', {}, () =>
    withPostgres(flags, (work) => replay({ ...work, fromStart: flags.fromStart ?? false })),
  );
  if (flags.json) writeOut(JSON.stringify({ events, shortened, ...seconds(started) }));
  else {
    writeOut(`The read model was built anew from ${events} events in ${seconds(started).seconds} s.`);
    if (shortened.length > 0) {
      writeOut(
        `Partition ${shortened.join(', ')} of the log lacks events that had been projected: their changes are gone. ` +
          'The log was resumed, so that no version is given out a second time.',
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
      `By their digests, ${byDigest.partitions} partitions of the read model are what the log says: ${byDigest.newEvents} new events of ${events}, ` +
        `${byDigest.rowsRead} rows read, ${seconds(started).seconds} s.`,
    );
  } else if (equal) {
    const compared = Object.entries({ events, ...counts }).map(
      ([plural, count]) => `${count} ${count === 1 ? plural.slice(0, -1) : plural}`,
    );
    writeOut(`The read model is what the log says: ${compared.join(', ')}, ${seconds(started).seconds} s.`);
  } else {
    writeOut('The read model is not what the log says. The first differences:');
    for (const difference of differences) writeOut(describeDifference(difference));
  }
}

/** Can be interrupted. */
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
