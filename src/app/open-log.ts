/** Opens the log that the settings name. */
import { readFileSync } from 'node:fs';
import type { SASLOptions } from 'kafkajs';
import pg from 'pg';
import type { Logger } from 'pino';
import { Projector } from '../log/projector.ts';
import { rememberReadModel } from '../log/read-model.ts';
import { models } from '../../projections/models.ts';
import { ConfigError } from '../storage/config-error.ts';
import type { Config } from './config.ts';
import type { Database } from '../storage/database/database.ts';
import type { EventLog, RecordLog } from '../log/event-log.ts';
import type { KafkaSettings } from '../log/kafka/kafka-client.ts';
import type { LogObserver } from '../log/log-observer.ts';
import { allPartitions, partitionCount } from '../log/partition.ts';
import { describeLogPlace, readLogPlace, rememberMoves, type LogKind } from '../log/postgres/log-place.ts';

/** Whether a process projects a log in Kafka: true, false, or only while no other process does. */
export type Projects = boolean | 'unless others do';

interface OpenLogOptions {
  readonly logger: Logger;
  readonly projects: Projects;
  readonly signal: AbortSignal;
  readonly observer: LogObserver;
  /**
   * Returns the newest language of events that all running processes can read. Absent: this process is the only one.
   */
  readonly languageMax?: () => number;
  /** Returns whether processes with other read models may append. Absent: there are none. */
  readonly mayBeBehind?: () => boolean;
}

/** Opens the log. Rejects with WrongLog (Postgres), UnsafeTopic (Kafka), and when it cannot be reached. */
export async function openLog(
  config: Config,
  database: Database,
  { logger, projects, signal, observer, languageMax, mayBeBehind }: OpenLogOptions,
): Promise<EventLog> {
  const common = {
    database,
    projector: new Projector(models),
    logger,
    observer,
    queueEventsMax: config.APPEND_QUEUE_EVENTS_MAX,
    queueBytesMax: config.APPEND_QUEUE_BYTES_MAX,
    unknownWait: config.OUTCOME_WAIT_MS,
    partitions: partitionCount,
    ...(languageMax && { languageMax }),
    ...(mayBeBehind && { mayBeBehind }),
  };
  await requirePlace(database.pool, config);
  const settings = readKafkaSettings(config);
  // Loaded on demand, so that the Kafka client costs nothing if the log is in Postgres.
  if (settings === null) {
    const { PostgresLog } = await import('../log/postgres/postgres-log.ts');
    return PostgresLog.open(common, signal);
  }
  const { openKafkaLog } = await import('../log/kafka/open-kafka-log.ts');
  // Each read model has its own group, so that a new version can fill its read model while processes of this version
  // serve.
  const kafka = {
    ...settings,
    group: `${settings.group}-${database.schema}${config.DATABASE_URL === undefined ? await ownGroup(database) : ''}`,
  };
  const lagEventsMax = config.PROJECTION_LAG_EVENTS_MAX;
  const [isReadModel, isLog] = [await rememberReadModel(database), await rememberMoves(database.pool)];
  const requireReadModel = async (): Promise<void> => {
    await isReadModel();
    await isLog();
  };
  return openKafkaLog(
    { ...common, requireReadModel, kafka, lagEventsMax, projects, listens: config.ROLE !== 'projector' },
    signal,
  );
}

/**
 * The suffix of the consumer group for an embedded Postgres. With its own group, a process whose DATABASE_URL was
 * forgotten takes no partitions from the projectors of a deployment.
 */
async function ownGroup({ pool }: Database): Promise<string> {
  const {
    rows: [system],
  } = await pool.query<{ id: string }>('select system_identifier::text as id from pg_control_system()');
  return `-${system!.id}`;
}

/**
 * Opens the records of the log. Rejects with ConfigError if the log has moved to a place that differs from the
 * settings.
 */
export async function openRecordLog(config: Config, databaseUrl: string, logger: Logger): Promise<RecordLog> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5000 });
  // If the connection breaks, the query fails.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await requirePlace(client, config);
  } finally {
    await client.end();
  }
  return openRecords(config, databaseUrl, logger);
}

/** Rejects with ConfigError if the log has moved to a place that differs from the settings. */
async function requirePlace(connection: Pick<pg.ClientBase, 'query'>, config: Config): Promise<void> {
  const place = await readLogPlace(connection);
  if (place !== null && place !== logKindOf(config)) throw new ConfigError([describeLogPlace(place)]);
}

/** The kind of log that the settings name. */
export function logKindOf(config: Config): LogKind {
  return config.KAFKA_BROKERS === undefined ? 'postgres' : 'kafka';
}

/**
 * Opens the records of the log, and creates an empty log if there is none. Rejects as `openCopyTarget` and
 * `openRecordLog` do.
 */
export async function openOrCreateRecords(
  config: Config,
  { pool }: Pick<Database, 'pool'>,
  databaseUrl: string,
  logger: Logger,
): Promise<RecordLog> {
  await requirePlace(pool, config);
  return openCopyTarget(config, databaseUrl, logger);
}

async function openRecords(config: Config, databaseUrl: string, logger: Logger): Promise<RecordLog> {
  const kafka = readKafkaSettings(config);
  if (kafka === null) {
    const { PostgresReader } = await import('../log/postgres/postgres-reader.ts');
    return PostgresReader.open(databaseUrl);
  }
  const { KafkaReader } = await import('../log/kafka/kafka-reader.ts');
  return KafkaReader.open(kafka, partitionCount, logger);
}

/**
 * Opens the log that the settings name as the target of copied records, and creates an empty log if there is none. Does
 * not check whether the log has moved. Rejects with UnsafeTopic (Kafka), and when the log cannot be reached.
 */
export async function openCopyTarget(config: Config, databaseUrl: string, logger: Logger): Promise<RecordLog> {
  const kafka = readKafkaSettings(config);
  if (kafka === null) return openRecords(config, databaseUrl, logger);
  const [{ createKafka, withAdmin, whenSettled }, { ensureTopic }] = await Promise.all([
    import('../log/kafka/kafka-client.ts'),
    import('../log/kafka/topic.ts'),
  ]);
  await withAdmin(createKafka(kafka, logger), (admin) => whenSettled(() => ensureTopic(admin, kafka, partitionCount)));
  const log = await openRecords(config, databaseUrl, logger);
  // Wait for leaders: a topic that was just created has none.
  await whenSettled(() => Promise.all(allPartitions(partitionCount).map((partition) => log.bounds(partition))));
  return log;
}

/** The settings of Kafka; null if the log is in Postgres. Throws ConfigError if a file cannot be read. */
function readKafkaSettings(config: Config): KafkaSettings | null {
  if (config.KAFKA_BROKERS === undefined) return null;
  const mechanism = config.KAFKA_SASL_MECHANISM;
  const sasl = { mechanism, username: config.KAFKA_SASL_USERNAME, password: config.KAFKA_SASL_PASSWORD } as SASLOptions;
  return {
    brokers: config.KAFKA_BROKERS,
    topic: config.KAFKA_TOPIC,
    group: config.KAFKA_GROUP,
    replicas: config.KAFKA_REPLICAS,
    ssl: config.KAFKA_SSL && readTlsFiles(config),
    sasl: mechanism && sasl,
  };
}

function readTlsFiles(config: Config): Exclude<KafkaSettings['ssl'], boolean> {
  const files = { ca: 'KAFKA_SSL_CA_FILE', cert: 'KAFKA_SSL_CERT_FILE', key: 'KAFKA_SSL_KEY_FILE' } as const;
  const problems: string[] = [];
  const read = Object.entries(files).flatMap(([option, name]) => {
    const path = config[name];
    if (path === undefined) return [];
    try {
      return [[option, readFileSync(path, 'utf8')]];
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
      return [];
    }
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.fromEntries(read);
}
