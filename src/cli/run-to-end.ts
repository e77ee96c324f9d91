/** What a process of this project does with errors: those of its user are told in a sentence, bugs with their stack. */
import { inspect } from 'node:util';
import { InvalidRequest } from '../../commands/invalid-request.ts';
import { ConfigError } from '../app/config.ts';
import { isDatabaseAway } from '../database/database-away.ts';
import { EmbeddedPostgresError } from '../embedded/embedded-postgres-error.ts';
import { StoreAway } from '../files/file-store.ts';
import { NotAppended } from '../log/event-log.ts';
import { WrongLog } from '../log/identity.ts';
import { isKafkaAway } from '../log/kafka/kafka-away.ts';
import { UnsupportedKafkajs } from '../log/kafka/kafkajs-internals.ts';
import { UnsafeTopic } from '../log/kafka/topic.ts';
import { ReadModelInUse } from '../app/read-model-use.ts';
import { NoReadModel } from '../../projections/engine/compare/snapshot.ts';

/** Something the user of the command line got wrong, or has to know. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

/** What Postgres says of a user without the right. */
const insufficientPrivilege = '42501';

const userErrors = [
  UserError, InvalidRequest, ConfigError, EmbeddedPostgresError, WrongLog, UnsafeTopic, UnsupportedKafkajs, ReadModelInUse, NoReadModel,
];

/** Runs the work of a process, and ends it. When it fails, says why on stderr and sets the exit code to 1. */
export async function runToEnd(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${describeFailure(error)}\n`);
    process.exitCode = 1;
  }
  // All is closed by now, but kafkajs can open a connection behind a consumer group that was shared out anew just while it
  // was left, and such a process would never end. What was written before this is written out.
  process.stdout.write('', () => process.exit());
}

/** What its user is told of an error: a sentence, or for a bug its stack. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (userErrors.some((kind) => error instanceof kind)) return error.message;
  if (isKafkaAway(error)) return `Kafka cannot be used: ${error.message}`;
  if (error instanceof StoreAway) return `${error.message}. See the settings that begin with FILES_.`;
  if (isDatabaseAway(error)) return `Postgres cannot be used: ${messageOf(error)}. Start it, or correct DATABASE_URL.`;
  if ((error as NodeJS.ErrnoException).code === insufficientPrivilege) {
    return `DATABASE_URL: its user may not do all that is needed: ${error.message}; give it the right to make schemas`;
  }
  if (error instanceof NotAppended && error.cause === undefined) return error.message;
  return inspect(error);
}

/** A host with several addresses fails once for each of them. */
function messageOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map((one: Error) => one.message).join(', ') : error.message;
}
