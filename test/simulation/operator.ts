/** The work of operators in simulated histories. */
import pRetry from 'p-retry';
import type pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import type { Database } from '../../src/storage/database/database.ts';
import type { RecordLog } from '../../src/log/event-log.ts';
import { KafkaConnection } from '../../src/log/kafka/kafka-connection.ts';
import { KafkaReader } from '../../src/log/kafka/kafka-reader.ts';
import { describeLogPlace, readLogPlace, type LogKind } from '../../src/log/postgres/log-place.ts';
import { PostgresReader } from '../../src/log/postgres/postgres-reader.ts';
import { resumeLog as resume } from '../../src/log/resume.ts';
import { readQuarantines } from '../../src/log/quarantine/quarantine.store.ts';
import { releaseQuarantine } from '../../src/administration/quarantines.ts';
import { resumeAfterLoss } from '../../src/administration/partitions.ts';
import { clock, SimulatedProcess } from './clock.ts';
import { connectTo } from './cluster.ts';
import { SimulatedDatabase } from './database.ts';
import { partitions } from './partitions.ts';
import type { PostgresServer } from './postgres.ts';
import type { Place } from './place.ts';
import { createReadModel, type World } from './world.ts';

function versionsOf(postgres: PostgresServer): bigint[] {
  return [...postgres.rowsOf('progress').values()].map(({ base, next }) => (base as bigint) + (next as bigint));
}

/**
 * The work of `tablog replay` while all processes are stopped, done differently: the processes start on an empty read
 * model.
 */
export async function replay(world: World, places: readonly Place[]): Promise<void> {
  const { postgres } = world;
  const before = versionsOf(postgres);
  const isContradicted = [...postgres.rowsOf('progress').values()].some(({ contradicted }) => contradicted === true);
  createReadModel(postgres, readModelSchema);
  for (const place of places) place.start();
  while (places.every(({ serving }) => serving === null)) await clock.sleep(100);
  const after = versionsOf(postgres);
  if (isContradicted || before.some((version, partition) => version > after[partition]!)) {
    await asOperator(world, (log) =>
      resume(
        log,
        before.map((version, partition) => (version > after[partition]! ? version : after[partition]!)),
      ),
    );
  }
}

/** How often an operator retries something that failed, and after how long, in milliseconds. */
const again = { retries: 100, minTimeout: 500, factor: 1 };

/** The work of `tablog log resume`, retried until it is possible. */
export async function resumeLog(world: World): Promise<void> {
  await pRetry(() => asOperator(world, resumeAfterLoss), again);
}

/** The work of `tablog quarantine release --all`, retried until no team is in quarantine. */
export async function releaseTeams(world: World): Promise<void> {
  const { signal } = new AbortController();
  await pRetry(
    () =>
      asOperator(world, async (log, database) => {
        for (const quarantine of await readQuarantines(database.pool))
          await releaseQuarantine(quarantine, log, database, { onProgress: () => undefined, signal });
      }),
    again,
  );
}

/** Changes the log and a read model from outside of the service. */
export async function asOperator(
  world: World,
  work: (log: RecordLog, database: Database) => Promise<unknown>,
  readModel = readModelSchema,
): Promise<void> {
  const { postgres } = world;
  const operator = new SimulatedProcess('operator');
  await operator.run(async () => {
    const { asDatabase: database } = new SimulatedDatabase(postgres, operator, readModel);
    await work(await openRecords(world, operator, database), database);
  });
}

/** Opens the records of the log for a process. */
export async function openRecords(
  world: World,
  process: SimulatedProcess,
  { pool }: Pick<Database, 'pool'>,
): Promise<RecordLog> {
  if (world.moves) await requirePlace(pool, world.log);
  return openRecordsIn(world.log, world, process, pool);
}

/** Opens the records of the log in Postgres, or of the log in Kafka, wherever the log is. */
export async function openRecordsIn(
  log: LogKind,
  { kafka }: World,
  process: SimulatedProcess,
  pool: pg.Pool,
): Promise<RecordLog> {
  if (log === 'postgres') return PostgresReader.over(pool, partitions);
  return new KafkaReader(await KafkaConnection.over(connectTo(kafka!.brokers, process), 'log'), partitions);
}

/**
 * Rejects if the log is no longer where the settings say. The service does so when it starts, and so does each command.
 */
export async function requirePlace(pool: pg.Pool, used: LogKind): Promise<void> {
  const place = await readLogPlace(pool);
  if (place !== null && place !== used) throw new Error(describeLogPlace(place));
}
