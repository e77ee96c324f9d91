/**
 * The log in a table of Postgres: any number of processes append to it, and each append is decided and stored in the
 * transaction that makes it (ARCHITECTURE.md, "How a batch is projected").
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import { inTransaction } from '../../database/transaction.ts';
import { decodeEvent, encodeEvent } from '../../events/event-codec.ts';
import type { Projector } from '../../../projections/projector.ts';
import { NotAppended } from '../event-log.ts';
import type { Appended, EncodedEvent, EventLog, LogRecord, PartitionBounds } from '../event-log.ts';
import { LogClock } from './log-clock.ts';
import { createLogTables, logSchema } from './log-tables.ts';
import { PartitionWriter } from './partition-writer.ts';
import { begin, commit, lockProgress, rollback, selectBounds, selectProgress, selectRecords } from './statements.ts';

export interface PostgresLogOptions {
  readonly database: Database;
  readonly projector: Projector;
  /** What may wait to be appended, over all partitions; past it appends are refused. */
  readonly queueEventsMax: number;
  readonly queueBytesMax: number;
  /** For how long it tries to find out what became of a commit without an answer, in milliseconds. */
  readonly unknownWait: number;
  readonly onHalt: (partition: number, offset: bigint, error: Error) => void;
  /** How many records are read, or projected, at once when the read model catches up. */
  readonly batchEvents?: number;
}

/** The log is not the one that the read model was built from. */
export class WrongLog extends Error {
  override readonly name = 'WrongLog';
}

export const partitionCount = 12;

/** Beyond every offset. */
const endOfTime = 2n ** 62n;

export interface CatchUpOptions {
  readonly to?: bigint | undefined;
  readonly onBatch?: ((events: number) => void) | undefined;
}

export class PostgresLog implements EventLog {
  readonly partitions = partitionCount;
  readonly #options: PostgresLogOptions;
  readonly #clock = new LogClock();
  readonly #writers: readonly PartitionWriter[];
  readonly #halted = new Map<number, string>();
  #queuedEvents = 0;
  #queuedBytes = 0;
  #closed = false;

  constructor(options: PostgresLogOptions) {
    this.#options = options;
    const { database, projector, unknownWait } = options;
    const catchUp = (partition: number): Promise<void> => this.catchUp(partition);
    this.#writers = Array.from({ length: partitionCount }, (_, partition) => {
      return new PartitionWriter({ partition, database, projector, clock: this.#clock, catchUp, unknownWait });
    });
  }

  now(): number {
    return this.#clock.now();
  }

  async start(signal: AbortSignal): Promise<void> {
    await createLogTables(this.#options.database.pool, this.partitions);
    await this.#startGeneration();
    for (let partition = 0; partition < this.partitions; partition += 1) {
      signal.throwIfAborted();
      await this.#proveIdentity(partition);
      await this.catchUp(partition);
    }
  }

  async append(partition: number, event: EncodedEvent): Promise<Appended> {
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

  async *read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]> {
    const batchEvents = this.#options.batchEvents ?? 500;
    for (let next = from; next < to; ) {
      const { rows } = await this.#options.database.pool.query({
        ...selectRecords, values: [partition, next, to, batchEvents], rowMode: 'array',
      });
      if (rows.length === 0) throw new WrongLog(`partition ${partition} has no record at offset ${next}`);
      const records = rows.map(([offset, time, bytes]: unknown[]): LogRecord => {
        return { partition, offset: BigInt(offset as string), time: Number(time), bytes: bytes as Buffer };
      });
      yield records;
      next = records.at(-1)!.offset + 1n;
    }
  }

  async bounds(partition: number): Promise<PartitionBounds> {
    const { pool } = this.#options.database;
    const { rows } = await pool.query({ ...selectBounds, values: [partition], rowMode: 'array' });
    const [next, time] = rows[0] as [string, string];
    return { logId: await this.#logId(partition), start: 0n, end: BigInt(next), time: Number(time) };
  }

  /** Why writes to a partition are refused; null while they are not. */
  halted(): ReadonlyMap<number, string> {
    return this.#halted;
  }

  /**
   * Projects what the log holds beyond the progress, up to `to` (exclusive). A record that cannot be projected halts the
   * partition there. `onBatch` hears how many records each batch had, and may throw to end it.
   */
  async catchUp(partition: number, { to = endOfTime, onBatch }: CatchUpOptions = {}): Promise<void> {
    const { database, onHalt } = this.#options;
    let events = this.#options.batchEvents ?? 500;
    for (;;) {
      const limit = events;
      try {
        const projected = await database.writers.with((tx) => this.#projectNext(tx, partition, to, limit));
        if (projected === 0) {
          this.#halted.delete(partition);
          return;
        }
        onBatch?.(projected);
        events = this.#options.batchEvents ?? 500;
      } catch (error) {
        // A batch that fails is tried again event by event; what still fails is a bug, and never skipped.
        if (!(error instanceof ProjectionFailed)) throw error;
        if (events > 1) {
          events = 1;
          continue;
        }
        this.#halted.set(partition, `partition ${partition} has halted at offset ${error.offset}`);
        onHalt(partition, error.offset, error.cause as Error);
        throw new NotAppended(`partition ${partition} has halted at offset ${error.offset}`, { cause: error });
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#writers.map((writer) => writer.idle()));
  }

  async #projectNext(
    tx: Parameters<Parameters<Database['writers']['with']>[0]>[0],
    partition: number,
    to: bigint,
    limit: number,
  ): Promise<number> {
    void tx.query(begin);
    const progress = await tx.query(lockProgress, [partition]);
    const [next, epoch] = progress.rows[0] as [bigint, bigint];
    const { rows } = await tx.query(selectRecords, [partition, next, to, limit]);
    if (rows.length === 0) {
      await tx.query(rollback);
      return 0;
    }
    const records = rows.map(([offset, time, bytes]): LogRecord => ({ partition, offset, time: Number(time), bytes }));
    try {
      const { stored } = await this.#options.projector.project(tx, partition, records, { epoch });
      await stored;
    } catch (error) {
      if (tx.broken) throw error;
      await tx.query(rollback);
      throw new ProjectionFailed(next, error);
    }
    await tx.query(commit);
    return rows.length;
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
      const logId = empty.length === rows.length ? randomUUID() : await this.#logId(0);
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

  /** The read model must have been built from this very log, and from no more than it holds. */
  async #proveIdentity(partition: number): Promise<void> {
    const { pool } = this.#options.database;
    const { rows } = await pool.query({ ...selectProgress, values: [partition], rowMode: 'array' });
    const [next, logId, lastHash] = rows[0] as [string, string | null, Buffer | null];
    if (logId === null) return;
    const { logId: present, end } = await this.bounds(partition);
    const advice = 'if the log is the right one, rebuild the read model with `tablog replay`; else restore the log';
    if (present !== logId) throw new WrongLog(`partition ${partition}: the log is ${present}, not ${logId}; ${advice}`);
    if (BigInt(next) > end) {
      throw new WrongLog(`partition ${partition}: the log ends at ${end}, the read model is at ${next}; ${advice}`);
    }
    for await (const [last] of this.read(partition, BigInt(next) - 1n, BigInt(next))) {
      const hash = createHash('sha256').update(last!.bytes).digest();
      if (!lastHash || !hash.equals(lastHash)) {
        throw new WrongLog(`partition ${partition}: the record before offset ${next} is another one than was read; ${advice}`);
      }
    }
  }

  async #logId(partition: number): Promise<string> {
    for await (const [first] of this.read(partition, 0n, 1n)) {
      const { data } = decodeEvent(first!.bytes);
      if (data.type === 'GenerationStarted') return data.logId;
    }
    throw new WrongLog(`partition ${partition} does not begin with the event that names its log`);
  }
}

class ProjectionFailed extends Error {
  override readonly name = 'ProjectionFailed';
  readonly offset: bigint;

  constructor(offset: bigint, cause: unknown) {
    super(`the projection failed in the batch from offset ${offset} on`, { cause });
    this.offset = offset;
  }
}
