/** Builds a read model from the log, from offset 0 on, in its own Postgres schema. */
import { projectRecords } from '../../projections/engine/project-records.ts';
import { Projector } from '../../projections/engine/projector.ts';
import { createReadModel, dropReadModel, openDatabase } from '../../projections/engine/read-model.ts';
import { models } from '../../projections/models.ts';
import type { LogReader, LogRecord } from '../log/event-log.ts';

/** How many partitions are projected concurrently: while one waits for Postgres, another is decided. */
const partitionsAtOnce = 2;

export interface RebuildOptions {
  readonly url: string;
  readonly log: LogReader;
  /** The Postgres schema to build in; its contents are dropped first. */
  readonly schema: string;
  /** The end offset (exclusive) of each partition; by default the end of the log. */
  readonly until?: ReadonlyMap<number, bigint> | undefined;
  /** How many events are projected per batch. The result does not depend on it. */
  readonly batchEvents: number;
  readonly onProgress: (projectedEvents: number, ofEvents: number) => void;
  readonly signal: AbortSignal;
}

/** Resolves to the number of events. Rejects with ProjectionFailed, and with the reason of `signal` when that aborts. */
export async function rebuild(options: RebuildOptions): Promise<number> {
  const { url, log, schema, batchEvents, onProgress, signal } = options;
  const database = await openDatabase(models, {
    url, schema, synchronousCommit: false, writersMax: partitionsAtOnce, poolMax: partitionsAtOnce,
  });
  try {
    await dropReadModel(database);
    await createReadModel(models, database, log.partitions);
    const ends = options.until ?? (await endsOf(log));
    const ofEvents = Number([...ends.values()].reduce((sum, end) => sum + end, 0n));
    let events = 0;
    const failed = new AbortController();
    const onProjected = (projected: number): void => {
      signal.throwIfAborted();
      failed.signal.throwIfAborted();
      events += projected;
      onProgress(events, ofEvents);
    };

    const waiting = [...ends];
    const work = async (): Promise<void> => {
      // A projector's caches belong to one read model.
      const projector = new Projector(models);
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [partition, end] = next;
        for await (const records of inBatches(log.read(partition, 0n, end), batchEvents)) {
          await projectRecords({ database, projector, partition, epoch: 0n }, records, (done) => onProjected(done.length));
        }
      }
    };
    const works = Array.from({ length: partitionsAtOnce }, () => work().catch((error: unknown) => failed.abort(error)));
    await Promise.all(works);
    failed.signal.throwIfAborted();
    return events;
  } finally {
    await database.close();
  }
}

/** Regroups records into batches of this size. */
async function* inBatches(read: AsyncIterable<readonly LogRecord[]>, size: number): AsyncGenerator<readonly LogRecord[]> {
  let batch: LogRecord[] = [];
  for await (const records of read) {
    for (const record of records) {
      batch.push(record);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

async function endsOf(log: LogReader): Promise<Map<number, bigint>> {
  const ends = new Map<number, bigint>();
  for (let partition = 0; partition < log.partitions; partition += 1) ends.set(partition, (await log.bounds(partition)).end);
  return ends;
}
