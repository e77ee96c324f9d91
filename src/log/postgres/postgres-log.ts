/**
 * The log in a table of Postgres: any number of processes append to it, and each append is decided and stored in the
 * transaction that makes it (ARCHITECTURE.md, "How a batch is projected").
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import { inTransaction } from '../../database/transaction.ts';
import { encodeEvent } from '../../events/event-codec.ts';
import type { Outcome } from '../../events/outcome.ts';
import { ProgressMoved, type Projector } from '../../../projections/projector.ts';
import { NotAppended } from '../event-log.ts';
import { proveIdentity, readLogId, type RememberedLog } from '../identity.ts';
import type { EncodedEvent, EventLog, LogRecord, PartitionBounds } from '../event-log.ts';
import { LogClock } from '../log-clock.ts';
import { partitionCount } from '../partition.ts';
import { isConflict, ProjectionFailed, projectRecords } from '../project-records.ts';
import { createLogTables, logSchema } from './log-tables.ts';
import { PartitionWriter } from './partition-writer.ts';
import { PostgresReader } from './postgres-reader.ts';
import { selectProgress } from './statements.ts';

export interface PostgresLogOptions {
  readonly database: Database;
  readonly projector: Projector;
  /** What may wait to be appended, over all partitions; past it appends are refused. */
  readonly queueEventsMax: number;
  readonly queueBytesMax: number;
  /** For how long it tries to find out what became of a commit without an answer, in milliseconds. */
  readonly unknownWait: number;
  readonly logger: Logger;
}

export class PostgresLog implements EventLog {
  readonly partitions = partitionCount;
  readonly #reader: PostgresReader;
  readonly #options: PostgresLogOptions;
  readonly #clock = new LogClock();
  readonly #writers: readonly PartitionWriter[];
  readonly #halted = new Map<number, string>();
  #queuedEvents = 0;
  #queuedBytes = 0;
  #closed = false;

  private constructor(options: PostgresLogOptions) {
    this.#options = options;
    const { database, projector, unknownWait } = options;
    this.#reader = PostgresReader.over(database.pool);
    const catchUp = (partition: number): Promise<void> => this.catchUp(partition);
    this.#writers = Array.from({ length: partitionCount }, (_, partition) => {
      return new PartitionWriter({ partition, database, projector, clock: this.#clock, catchUp, unknownWait });
    });
  }

  /**
   * Opens the log, and brings the read model to its end. Makes the log unless it is there. Rejects with WrongLog when it is
   * not the one that the read model was built from.
   */
  static async open(options: PostgresLogOptions, signal: AbortSignal): Promise<PostgresLog> {
    const log = new PostgresLog(options);
    await log.#start(signal);
    return log;
  }

  now(): number {
    return this.#clock.now();
  }

  async #start(signal: AbortSignal): Promise<void> {
    await createLogTables(this.#options.database.pool, this.partitions);
    await this.#startGeneration();
    for (let partition = 0; partition < this.partitions; partition += 1) {
      signal.throwIfAborted();
      await proveIdentity(this, partition, await this.#progress(partition));
      await this.catchUp(partition);
    }
  }

  async append(partition: number, event: EncodedEvent): Promise<Outcome> {
    const { queueEventsMax, queueBytesMax } = this.#options;
    if (this.#closed) throw new NotAppended('the service is stopping');
    const halted = this.#halted.get(partition);
    if (halted !== undefined) throw new NotAppended(halted);
    if (this.#queuedEvents >= queueEventsMax || this.#queuedBytes + event.bytes.length > queueBytesMax) {
      throw new NotAppended('too much is waiting to be written');
    }
    this.#queuedEvents += 1;
    this.#queuedBytes += event.bytes.length;
    try {
      return await this.#writers[partition]!.append(event);
    } finally {
      this.#queuedEvents -= 1;
      this.#queuedBytes -= event.bytes.length;
    }
  }

  read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]> {
    return this.#reader.read(partition, from, to);
  }

  bounds(partition: number): Promise<PartitionBounds> {
    return this.#reader.bounds(partition);
  }

  readonly isCaughtUp = true;

  /** The read model is brought to the end of the log by `open`, and by every append. */
  async caughtUp(): Promise<void> {
    // There is nothing to wait for.
  }

  problems(): readonly string[] {
    return [...this.#halted.values()];
  }

  /** Projects what the log holds beyond the progress. A record that cannot be projected halts the partition there. */
  async catchUp(partition: number): Promise<void> {
    const { database, projector, logger } = this.#options;
    const { end } = await this.bounds(partition);
    for (;;) {
      const { next, epoch } = await this.#progress(partition);
      if (next >= end) break;
      try {
        for await (const records of this.read(partition, next, end)) {
          await projectRecords({ database, projector, partition, epoch }, records, () => undefined);
        }
      } catch (error) {
        // Another process brings it there too.
        if (error instanceof ProgressMoved || isConflict(error)) continue;
        if (!(error instanceof ProjectionFailed)) throw error;
        const reason = `partition ${partition} has halted at offset ${error.offset}`;
        this.#halted.set(partition, reason);
        logger.fatal({ partition, offset: String(error.offset), err: error.cause }, 'a partition has halted: its log cannot be projected any further');
        throw new NotAppended(reason, { cause: error });
      }
    }
    this.#halted.delete(partition);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#writers.map((writer) => writer.idle()));
  }

  /** The first start of a log: an event in each partition that names it. Only one process does it. */
  async #startGeneration(): Promise<void> {
    await inTransaction(this.#options.database.pool, async (client) => {
      const { rows } = await client.query(
        `select partition, next, (extract(epoch from clock_timestamp()) * 1000)::int8 as time
         from ${logSchema}.heads order by partition for update`,
      );
      this.#clock.set(Number(rows[0].time));
      const empty = rows.filter((head) => head.next === '0');
      const logId = empty.length === rows.length ? randomUUID() : await readLogId(this, 0);
      for (const { partition, time } of empty) {
        const data = { type: 'GenerationStarted', logId, base: 0n } as const;
        const { bytes } = encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data);
        await client.query(
          `insert into ${logSchema}.records (partition, log_offset, time, bytes) values ($1, 0, $2, $3)`,
          [partition, time, bytes],
        );
        await client.query(`update ${logSchema}.heads set next = 1, time = $2 where partition = $1`, [partition, time]);
      }
    });
  }

  async #progress(partition: number): Promise<RememberedLog & { readonly epoch: bigint }> {
    const { rows } = await this.#options.database.pool.query({ ...selectProgress, values: [partition], rowMode: 'array' });
    const [next, epoch, logId, lastHash] = rows[0] as [string, string, string | null, Buffer | null];
    return { next: BigInt(next), epoch: BigInt(epoch), logId, lastHash };
  }
}
