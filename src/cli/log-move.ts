/** `tablog log move` (docs/operate/operations.md, "Moving the log"). */
import type { Command } from 'commander';
import { Option } from 'commander';
import type { MoveOptions } from '../administration/move-log.ts';
import { ConfigError } from '../storage/config-error.ts';
import { readConfig, type Config } from '../app/config.ts';
import type { LogKind } from '../log/postgres/log-place.ts';
import { auditedCommand } from './audited.ts';
import { newLogger, writeOut, writeWords } from './console.ts';
import { interruption } from './interruption.ts';
import { ProgressLine } from './progress-line.ts';

interface Flags {
  readonly to: LogKind;
  readonly json?: boolean;
}

export function addLogMove(log: Command): void {
  log
    .command('move')
    .description('move the log between Postgres and Kafka while the service runs; set KAFKA_BROKERS in both directions')
    .addOption(
      new Option('--to <log>', 'the new place of the log').choices(['kafka', 'postgres']).makeOptionMandatory(),
    )
    .option('--json', 'write the result as JSON')
    .action(move);
}

async function move({ to, json }: Flags): Promise<void> {
  const config = readConfig();
  if (config.KAFKA_BROKERS === undefined)
    throw new ConfigError(['KAFKA_BROKERS: must name the brokers that the log moves to or from']);
  const signal = interruption();
  const progress = new ProgressLine('records', writeWords);
  const { records, pausedMs } = await auditedCommand('log.move', { to }, () =>
    withReadModel(config, async ({ database, openLogs }) => {
      const { moveLog } = await import('../administration/move-log.ts');
      return moveLog({ database, openLogs, to, signal, onProgress: (done, of) => progress.update(done, of) });
    }),
  );
  if (json) writeOut(JSON.stringify({ to, records, pausedMs: Math.round(pausedMs) }));
  else {
    writeWords(
      `The log has moved: ${records} records; writes waited for ${Math.round(pausedMs)} ms. Running processes end now. Start them again ` +
        (to === 'kafka'
          ? 'with KAFKA_BROKERS, and with KAFKA_TOPIC if it is set here.'
          : 'without ROLE and the settings that begin with KAFKA_.'),
    );
  }
}

/** Opens the read model, and lets `work` open both logs, the one in Postgres and the one in Kafka. */
async function withReadModel<T>(
  config: Config,
  work: (opened: Pick<MoveOptions, 'database' | 'openLogs'>) => Promise<T>,
): Promise<T> {
  const [{ openReadModel }, { openCopyTarget }] = await Promise.all([
    import('../app/service.ts'),
    import('../app/open-log.ts'),
  ]);
  const logger = newLogger();
  await using resources = new AsyncDisposableStack();
  const { url, database, close } = await openReadModel(config, logger);
  resources.defer(close);
  const open = async (settings: Config): ReturnType<typeof openCopyTarget> => {
    const log = await openCopyTarget(settings, url, logger);
    resources.defer(() => log.close());
    return log;
  };
  return await work({
    database,
    openLogs: async () => ({
      postgres: await open({ ...config, KAFKA_BROKERS: undefined }),
      kafka: await open(config),
    }),
  });
}
