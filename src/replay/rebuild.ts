/** Building a read model from the log, from offset 0 on, in a Postgres schema of its own. */
import { createReadModel, dropReadModel } from '../../projections/read-model.ts';
import { Projector } from '../../projections/projector.ts';
import { Database } from '../database/database.ts';
import { createLogTables, logSchema } from '../log/postgres/log-tables.ts';
import { partitionCount, PostgresLog } from '../log/postgres/postgres-log.ts';

/** How many partitions are projected at once: while one waits for Postgres, another is decided. */
const partitionsAtOnce = 2;

export interface RebuildOptions {
  readonly url: string;
  /** The Postgres schema to build in; what is in it is dropped first. */
  readonly schema: string;
  /** The offset to stop before, by partition; without it, all that the log holds. */
  readonly until?: ReadonlyMap<number, bigint> | undefined;
  /** How many events are projected at once. The result does not depend on it. */
  readonly batchEvents: number;
  readonly onProgress: (projectedEvents: number, ofEvents: number) => void;
  readonly signal: AbortSignal;
}

/** An event that no projection can be made of: a bug, or a log that was damaged. */
export class ReplayHalted extends Error {
  override readonly name = 'ReplayHalted';
}

/** Rejects with ReplayHalted, and with the reason of `signal` when that is aborted. Resolves with the number of events. */
export async function rebuild(options: RebuildOptions): Promise<number> {
  const { url, schema, batchEvents, onProgress, signal } = options;
  const database = await Database.open({
    url, schema, synchronousCommit: false, writersMax: partitionsAtOnce, poolMax: partitionsAtOnce,
  });
  try {
    await createLogTables(database.pool, partitionCount);
    await dropReadModel(database);
    await createReadModel(database, partitionCount);
    const ends = options.until ?? (await endsOf(database));
    const ofEvents = Number([...ends.values()].reduce((sum, end) => sum + end, 0n));
    let events = 0;
    const failed = new AbortController();
    const onBatch = (projected: number): void => {
      signal.throwIfAborted();
      failed.signal.throwIfAborted();
      events += projected;
      onProgress(events, ofEvents);
    };

    const waiting = [...ends];
    const work = async (): Promise<void> => {
      const log = logOf(database, batchEvents);
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        await log.catchUp(next[0], { to: next[1], onBatch });
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

/** It is only read. The projector is its own, because what a projector caches belongs to one read model. */
function logOf(database: Database, batchEvents: number): PostgresLog {
  return new PostgresLog({
    database, projector: new Projector(), batchEvents, queueEventsMax: 0, queueBytesMax: 0, unknownWait: 0,
    onHalt: (partition, offset, error) => {
      throw new ReplayHalted(`the event at offset ${offset} of partition ${partition} cannot be projected`, { cause: error });
    },
  });
}

async function endsOf(database: Database): Promise<Map<number, bigint>> {
  const { rows } = await database.pool.query(`select partition, next from ${logSchema}.heads order by partition`);
  return new Map(rows.map(({ partition, next }) => [partition, BigInt(next)]));
}
