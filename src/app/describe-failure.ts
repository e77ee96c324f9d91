/** Describes the error of a service that cannot start or had to end. */
import { inspect } from 'node:util';
import { InvalidRequest } from '../../commands/invalid-request.ts';
import { ConfigError } from '../storage/config-error.ts';
import { isDatabaseAway } from '../storage/database/database-away.ts';
import { EmbeddedPostgresError } from '../storage/embedded/embedded-postgres-error.ts';
import { StoreAway } from '../storage/files/file-store.ts';
import { NotAppended } from '../log/event-log.ts';
import { WrongLog } from '../log/identity.ts';
import { isKafkaAway, isTopicMissing } from '../log/kafka/kafka-away.ts';
import { UnsupportedKafkajs } from '../log/kafka/kafkajs-internals.ts';
import { UnsafeTopic } from '../log/kafka/unsafe-topic.ts';
import { BackupError } from '../operations/backup/backup-store.ts';
import { CannotMove } from '../administration/move-log.ts';
import { CannotResume } from '../administration/partitions.ts';
import { ReadModelInUse } from '../log/read-model-use.ts';
import { NoReadModel } from '../log/compare/snapshot.ts';

/** The SQLSTATE for a missing privilege. */
const insufficientPrivilege = '42501';

const userErrors = [
  InvalidRequest,
  ConfigError,
  EmbeddedPostgresError,
  WrongLog,
  UnsafeTopic,
  UnsupportedKafkajs,
  ReadModelInUse,
  NoReadModel,
  CannotResume,
  CannotMove,
  BackupError,
];

/** The error as the operator sees it: a sentence, or the stack of a bug. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (userErrors.some((kind) => error instanceof kind)) return error.message;
  if (isKafkaAway(error)) return `Kafka cannot be used: ${error.message}`;
  if (isTopicMissing(error))
    return 'Kafka has no topic for this log: correct KAFKA_BROKERS or KAFKA_TOPIC, or restore the topic. (A start of the service creates an empty topic.)';
  if (error instanceof StoreAway) return `${error.message}. See the settings that begin with FILES_.`;
  if (isDatabaseAway(error)) return `Postgres cannot be used: ${messageOf(error)}. Start it, or correct DATABASE_URL.`;
  if ((error as NodeJS.ErrnoException).code === insufficientPrivilege) {
    return `DATABASE_URL: its user lacks a right: ${error.message}; give it the right to create schemas`;
  }
  if (error instanceof NotAppended && error.cause === undefined) return error.message;
  return inspect(error);
}

/** The message of an error. If a host has several addresses, it has a message for each. */
function messageOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map((one: Error) => one.message).join(', ') : error.message;
}
