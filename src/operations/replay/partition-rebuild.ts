/**
 * Projects a partition of an existing log as fast as possible. While one batch is being stored, the next one is decided
 * speculatively. For the batches after that, other connections already write the rows that the events contain, and look
 * up the rows that the events patch or delete.
 */
import { toEntry } from '../../log/batch/entry.ts';
import { isKeyTaken } from '../../log/batch/local-keys.ts';
import { PartitionBatches } from '../../log/batch/partition-batches.ts';
import { batchCostMax, projectRecords, type ProjectTarget } from '../../log/project-records.ts';
import type { SpeculativeBatch } from '../../log/batch/speculative-batch.ts';
import { storeSpeculative } from '../../log/batch/store-speculative.ts';
import { isDatabaseAway } from '../../storage/database/database-away.ts';
import type { Database } from '../../storage/database/database.ts';
import { withEndedBackend } from '../../storage/database/end-backend.ts';
import { costOfRecord } from '../../language/events/cost.ts';
import type { LogReader, LogRecord } from '../../log/event-log.ts';

/** Limits of the records that one transaction writes ahead. A larger record has its own transaction. */
const writtenAtOnce = { records: 500, bytes: 1024 * 1024 };

/** How many groups of records (`inParts`) are prepared at once. */
const partsAhead = 3;

/**
 * Reading pauses while more records, or more bytes of records, wait to be projected. The limit is low because V8's
 * garbage collection copies decoded events that wait for long.
 */
const waitingMax = { records: 500, bytes: 2 * 1024 * 1024 };

interface PartitionRebuildOptions extends ProjectTarget {
  readonly database: Pick<Database, 'writers' | 'fills'>;
  readonly log: LogReader;
  /** How many events are projected per batch. The result does not depend on it. */
  readonly batchEvents: number;
  /** Called when all records before this place are projected. If it throws, projecting stops. */
  readonly onProjected: (place: RebuildPlace) => void;
}

/** How far a partition is projected. */
export interface RebuildPlace {
  readonly next: bigint;
  /** The time of the record before `next`, in milliseconds since 1970; 0 if there is none. */
  readonly time: number;
}

/**
 * Projects the records from `from` on up to `end` (exclusive). Rejects as `projectRecords` and `onProjected` do, after
 * all work under way has ended.
 */
export async function rebuildPartition(
  options: PartitionRebuildOptions,
  from: RebuildPlace,
  end: bigint,
): Promise<void> {
  const { partition, database, projector, epoch, log, batchEvents } = options;
  const failed = new AbortController();
  const waiting = new WaitingRecords();
  const batches: PartitionBatches<LogRecord> = new PartitionBatches({
    partition,
    database,
    projector,
    epoch,
    costOf: ({ bytes }) => costOfRecord(bytes),
    costMax: batchCostMax,
    eventsMax: batchEvents,
    // Unused: the records have their offsets and times already.
    timeNow: () => 0,
    place: (records) => records,
    maySpeculate: () => !failed.signal.aborted,
    store: async ({ items, speculative }) => {
      try {
        failed.signal.throwIfAborted();
        return await store(options, batches, items, speculative);
      } catch (error) {
        failed.abort(error);
        return false;
      } finally {
        waiting.remove(items);
      }
    },
  });
  try {
    for await (const records of prepared(options, batches, inLogTime(log.read(partition, from.next, end), from.time))) {
      waiting.add(records);
      batches.push(records);
      await waiting.room();
      failed.signal.throwIfAborted();
    }
  } finally {
    await batches.idle();
  }
  failed.signal.throwIfAborted();
}

/**
 * Stores a batch. Resolves to whether the speculative decision was stored; if it was not, the batch was decided again.
 */
async function store(
  options: PartitionRebuildOptions,
  batches: PartitionBatches<LogRecord>,
  records: readonly LogRecord[],
  speculative: SpeculativeBatch | null,
): Promise<boolean> {
  const { listener, onProjected } = options;
  const began = Date.now();
  const projected = (done: readonly LogRecord[]): void => {
    listener?.projected?.(done, began);
    const { offset, time } = done.at(-1)!;
    onProjected({ next: offset + 1n, time });
  };
  if (speculative !== null && (await storedAsDecided(options, speculative))) {
    projected(records);
    return true;
  }
  batches.lost();
  await projectRecords(options, records, projected);
  batches.landed(records.at(-1)!);
  return false;
}

/**
 * Stores a speculative batch; resolves to false if that fails. Rejects only with errors that `isDatabaseAway`
 * recognizes.
 */
async function storedAsDecided({ database }: PartitionRebuildOptions, speculative: SpeculativeBatch): Promise<boolean> {
  try {
    await withEndedBackend(database.writers, (tx) => storeSpeculative(tx, speculative));
    return true;
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    // Garbage collection conflicted, or a record is faulty, which shows when it is projected alone.
    return false;
  }
}

/**
 * Gives the records the times that they had when they were first projected. Log time never falls. But the clocks of
 * brokers differ and step, so a reader that does not begin at offset 0 may give a record a time below that of the
 * record before.
 */
async function* inLogTime(
  read: AsyncIterable<readonly LogRecord[]>,
  from: number,
): AsyncGenerator<readonly LogRecord[]> {
  let last = from;
  for await (const records of read) {
    yield records.map((record) => {
      last = Math.max(last, record.time);
      return record.time === last ? record : { ...record, time: last };
    });
  }
}

/**
 * Yields the records in log order. By then `prepare` has written the rows in a record, and looked up the rows that it
 * patches or deletes, unless that failed.
 */
async function* prepared(
  options: PartitionRebuildOptions,
  batches: PartitionBatches<LogRecord>,
  read: AsyncIterable<readonly LogRecord[]>,
): AsyncGenerator<readonly LogRecord[]> {
  const underWay: Promise<readonly LogRecord[]>[] = [];
  try {
    for await (const records of read) {
      for (const part of inParts(records)) {
        underWay.push(prepare(options, batches, part.map(decoded)));
        if (underWay.length >= partsAhead) yield await underWay.shift()!;
      }
    }
    while (underWay.length > 0) yield await underWay.shift()!;
  } finally {
    await Promise.all(underWay);
  }
}

function* inParts(records: readonly LogRecord[]): Generator<readonly LogRecord[]> {
  let part: LogRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    part.push(record);
    bytes += record.bytes.length;
    if (part.length < writtenAtOnce.records && bytes < writtenAtOnce.bytes) continue;
    yield part;
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield part;
}

/**
 * The record with its event, so that the event is decoded once. If it cannot be decoded, projecting the record fails
 * later.
 */
function decoded(record: LogRecord): LogRecord {
  try {
    return { ...record, event: toEntry(record).event };
  } catch {
    return record;
  }
}

/**
 * Writes and looks up rows ahead; resolves to the records. Never rejects: after a failure the batch does the same work,
 * and reports the error if it fails too.
 */
async function prepare(
  { projector, database }: PartitionRebuildOptions,
  batches: PartitionBatches<LogRecord>,
  records: readonly LogRecord[],
): Promise<readonly LogRecord[]> {
  const events = records.flatMap(({ event }) => event ?? []);
  try {
    await projector.writeAhead(database, events);
    await batches.lookAhead(database, events);
  } catch (error) {
    if (isKeyTaken(error)) projector.forget();
  }
  return records;
}

/** Counts the records that wait to be projected. */
class WaitingRecords {
  #records = 0;
  #bytes = 0;
  #onRemoved: (() => void) | null = null;

  add(records: readonly LogRecord[]): void {
    this.#records += records.length;
    for (const { bytes } of records) this.#bytes += bytes.length;
  }

  remove(records: readonly LogRecord[]): void {
    this.#records -= records.length;
    for (const { bytes } of records) this.#bytes -= bytes.length;
    this.#onRemoved?.();
  }

  /** Resolves when no more records and bytes wait than `waitingMax`. */
  async room(): Promise<void> {
    while (this.#records > waitingMax.records || this.#bytes > waitingMax.bytes) {
      await new Promise<void>((resolve) => {
        this.#onRemoved = resolve;
      });
    }
  }
}
