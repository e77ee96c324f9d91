/** The records of a log in Postgres. */
import pg from 'pg';
import type { LogRecord, PartitionBounds, RecordLog } from '../event-log.ts';
import { WrongLog } from '../identity.ts';
import { partitionCount } from '../partition.ts';
import type { Statement } from '../../storage/database/pipelined-client.ts';
import { inTransaction } from '../../storage/database/transaction.ts';
import { appendRecord } from './append-record.ts';
import { allowCopies } from './log-place.ts';
import { createLogTables } from './log-tables.ts';
import { insertCopies, moveHead, selectEnd, selectRecords } from './statements.ts';

/** Limits of one read and of one write. */
const recordsAtOnce = 1000;
const bytesAtOnce = 4 * 1024 * 1024;

/** A connection of either kind, or a pool. */
interface Connection {
  query<Row extends object>(
    statement: Statement<Row>,
    values: readonly unknown[],
  ): Promise<{ readonly rows: readonly Row[] }>;
}

/**
 * The records of a partition from one offset on and before another: all of them, or as many as one query should read.
 * Rejects with WrongLog if the first one is missing.
 */
export async function readSome(
  connection: Connection,
  partition: number,
  from: bigint,
  to: bigint,
): Promise<readonly LogRecord[]> {
  const { rows } = await connection.query(selectRecords, [partition, from, to, recordsAtOnce, bytesAtOnce]);
  if (rows.length === 0) throw new WrongLog(`partition ${partition} has no record at offset ${from}`);
  return rows.map(({ log_offset: offset, time, bytes }) => ({
    partition,
    offset: BigInt(offset),
    time: Number(time),
    bytes,
  }));
}

/** As `readSome`, until all are read. */
export async function* readRecords(
  connection: Connection,
  partition: number,
  from: bigint,
  to: bigint,
): AsyncGenerator<readonly LogRecord[]> {
  for (let next = from; next < to;) {
    const records = await readSome(connection, partition, next, to);
    yield records;
    next = records.at(-1)!.offset + 1n;
  }
}

export class PostgresReader implements RecordLog {
  readonly partitions: number;
  readonly #pool: pg.Pool;
  readonly #ownsPool: boolean;

  private constructor(pool: pg.Pool, partitions: number, ownsPool: boolean) {
    this.partitions = partitions;
    this.#pool = pool;
    this.#ownsPool = ownsPool;
  }

  /** Reads over a pool that the caller closes. */
  static over(pool: pg.Pool, partitions: number): PostgresReader {
    return new PostgresReader(pool, partitions, false);
  }

  /** Reads over its own connections. Creates an empty log unless one exists. */
  static async open(url: string): Promise<PostgresReader> {
    const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 5000 });
    // Errors of idle connections are ignored, because the pool replaces a broken one.
    pool.on('error', () => undefined);
    try {
      await createLogTables(pool, partitionCount);
    } catch (error) {
      await pool.end();
      throw error;
    }
    return new PostgresReader(pool, partitionCount, true);
  }

  read(partition: number, from: bigint, to: bigint): AsyncGenerator<readonly LogRecord[]> {
    return readRecords(this.#pool, partition, from, to);
  }

  async bounds(partition: number): Promise<PartitionBounds> {
    const { rows } = await this.#pool.query<{ next: string }>({ ...selectEnd, values: [partition] });
    return { start: 0n, end: BigInt(rows[0]!.next) };
  }

  async confirmLeader(): Promise<void> {
    // Nobody leads it.
  }

  async appendRecord(partition: number, bytes: Uint8Array): Promise<void> {
    await inTransaction(this.#pool, (client) => appendRecord(client, partition, bytes));
  }

  async appendCopies(partition: number, records: readonly LogRecord[]): Promise<void> {
    const { offset, time: firstTime } = records[0]!;
    const lengths = records.map(({ bytes }) => bytes.length);
    const firsts: number[] = [];
    lengths.reduce((first, length) => {
      firsts.push(first);
      return first + length;
    }, 1);
    const times = records.map(({ time }) => time);
    await inTransaction(this.#pool, async (client) => {
      await client.query(allowCopies);
      const { rowCount } = await client.query({
        ...moveHead,
        values: [partition, offset, offset + BigInt(records.length), times.at(-1)],
      });
      if (rowCount !== 1)
        throw new WrongLog(
          `partition ${partition} does not end at ${offset} and before ${firstTime}, but records were to be copied there: another process writes to it`,
        );
      const all = Buffer.concat(records.map(({ bytes }) => bytes));
      await client.query({ ...insertCopies, values: [partition, offset, all, times, firsts, lengths] });
    });
  }

  async close(): Promise<void> {
    if (this.#ownsPool) await this.#pool.end();
  }
}
